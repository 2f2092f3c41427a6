#include "server/api/query_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace carillon::server {

Result<std::optional<std::string>> QueryFields::text(std::string_view name) {
  asked_.push_back(name);
  std::optional<std::string> found;
  for (const QueryItem& item : *query_) {
    if (item.name != name) continue;
    if (found) return invalid_field(name, fmt::format("the query names {} twice", name));
    found = item.value;
  }
  return found;
}

Result<std::optional<Instant>> QueryFields::instant(std::string_view name) {
  TRY_ASSIGN(const auto given, text(name));
  if (!given) return std::nullopt;
  const auto at = parse_instant(*given);
  if (!at) return invalid_field(name, fmt::format("query {}: {}", name, at.error().message));
  return *at;
}

Result<std::optional<Duration>> QueryFields::duration(std::string_view name) {
  TRY_ASSIGN(const auto given, text(name));
  if (!given) return std::nullopt;
  const auto length = parse_duration(*given);
  if (!length) return invalid_field(name, fmt::format("query {}: {}", name, length.error().message));
  return *length;
}

Result<std::optional<bool>> QueryFields::flag(std::string_view name) {
  TRY_ASSIGN(const auto given, text(name));
  if (!given) return std::nullopt;
  if (*given != "true" && *given != "false") {
    return invalid_field(name, fmt::format("query {} is {}; it must be true or false", name, quoted(*given)));
  }
  return *given == "true";
}

Result<std::int64_t> QueryFields::integer(std::string_view name, std::int64_t otherwise, std::int64_t min,
                                          std::int64_t max) {
  TRY_ASSIGN(const auto given, text(name));
  if (!given) return otherwise;
  std::int64_t number = 0;
  const char* const end = given->data() + given->size();
  const auto [stopped, error] = std::from_chars(given->data(), end, number);
  if (error != std::errc() || stopped != end || number < min || number > max) {
    return invalid_field(
        name, fmt::format("query {} is {}; it must be a whole number from {} to {}", name, quoted(*given), min, max));
  }
  return number;
}

Result<void> QueryFields::finish() const {
  for (const QueryItem& item : *query_) {
    if (std::ranges::find(asked_, item.name) != asked_.end()) continue;
    std::string known;
    for (const std::string_view name : asked_) {
      if (!known.empty()) known += ", ";
      known += name;
    }
    return invalid_field(
        item.name, known.empty() ? fmt::format("unknown query parameter {}; this call takes none", quoted(item.name))
                                 : fmt::format("unknown query parameter {}; known are {}", quoted(item.name), known));
  }
  return {};
}

}  // namespace carillon::server
