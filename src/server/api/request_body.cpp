#include "server/api/request_body.h"

#include <fmt/format.h>

#include <charconv>

#include "core/jobs/job_fields.h"

namespace carillon::server {

Result<std::optional<Json>> optional_body(const CallRequest& request) {
  if (request.body.empty()) return std::nullopt;
  TRY_ASSIGN(Json json, parse_json_object(request.body));
  return json;
}

Result<std::optional<std::int64_t>> if_match_of(const CallRequest& request) {
  const std::string* const header = request.header("if-match");
  if (header == nullptr) return std::nullopt;
  std::string_view text = *header;
  if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"')) text = text.substr(1, text.size() - 2);
  std::int64_t revision = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (error != std::errc() || stopped != text.data() + text.size()) {
    return invalid_field("if-match", fmt::format("If-Match is {}; it must be a revision, like \"3\"", quoted(*header)));
  }
  return revision;
}

Result<void> expect_no_body(const CallRequest& request) {
  TRY_ASSIGN(const auto json, optional_body(request));
  if (json) TRY(JsonFields::of(request.body, *json, "", {}));
  return {};
}

}  // namespace carillon::server
