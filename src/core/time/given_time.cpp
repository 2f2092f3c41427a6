#include "core/time/given_time.h"

#include <fmt/format.h>

namespace carillon {

Instant GivenTime::in(const Zone& zone) const {
  if (const auto* at = std::get_if<Instant>(&time_)) return *at;
  return Instant(zone.resolve(std::get<LocalSeconds>(time_)).first);
}

LocalSeconds GivenTime::local_in(const Zone& zone) const {
  if (const auto* local = std::get_if<LocalSeconds>(&time_)) return *local;
  return zone.to_local(std::get<Instant>(time_));
}

std::string GivenTime::text() const {
  if (const auto* at = std::get_if<Instant>(&time_)) return format_exact(*at);
  return format_local_seconds(std::get<LocalSeconds>(time_));
}

Result<GivenTime> parse_given_time(std::string_view text) {
  if (const auto local = parse_local_seconds(text)) return GivenTime(*local);
  TRY_ASSIGN(const Instant at, parse_instant(text));
  return GivenTime(at);
}

Result<GivenTime> read_json_given_time(std::string_view text, const Json& value, const std::string& path) {
  if (value.type != JsonType::string && value.type != JsonType::number) {
    return json_error(text, value.offset, path,
                      fmt::format("expected an instant or a local time, found {}", describe(value.type)));
  }
  const auto parsed = parse_given_time(value.text);
  if (!parsed) {
    return json_error(text, value.offset, path,
                      fmt::format("{}; a local time is written 2026-01-05T09:00:00", parsed.error().message));
  }
  return *parsed;
}

}  // namespace carillon
