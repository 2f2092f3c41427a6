#include "server/api/request_body.h"

#include "core/job_fields.h"

namespace carillon::server {

Result<std::optional<Json>> optional_body(const HttpRequest& request) {
  if (request.body.empty()) return std::nullopt;
  TRY_ASSIGN(Json json, parse_json_object(request.body));
  return json;
}

Result<void> expect_no_body(const HttpRequest& request) {
  TRY_ASSIGN(const auto json, optional_body(request));
  if (json) TRY(JsonFields(request.body, *json, "").finish());
  return {};
}

}  // namespace carillon::server
