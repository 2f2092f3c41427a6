// A line tool for the differential tests: one JSON request a line in, one JSON answer a line out.
//
//   in:  {"trigger": {"kind": "cron", "cron": "0 8 * * *"}, "timezone": "Europe/London", "from":
//   "2026-01-01T00:00:00Z",
//         "count": 50, "dst": {"gap": "shift", "overlap": "first"}}
//   out: {"times": ["2026-01-01T08:00:00Z", …]} or {"error": "…", "code": "…"}
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "base/json.h"
#include "core/triggers/timetable.h"

namespace carillon {
namespace {

constexpr std::int64_t kCountMax = 100'000;

Result<std::string> answer(const std::string& line) {
  TRY_ASSIGN(const Json request, parse_json(line));
  static constexpr auto kFields = field_names("trigger", "timezone", "from", "count", "dst");
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(line, request, "", kFields));
  TRY_ASSIGN(const Json* trigger_json, fields.required("trigger", JsonType::object));
  TRY_ASSIGN(const Trigger trigger, parse_trigger_json(line, *trigger_json, "trigger"));
  TRY_ASSIGN(const std::string zone_name, fields.string("timezone"));
  TRY_ASSIGN(const std::string from_text, fields.string("from"));
  TRY_ASSIGN(const std::int64_t count, fields.integer("count", {1, kCountMax}));
  TRY_ASSIGN(const Instant from, parse_instant(from_text));

  Timetable::Options options;
  options.created_at = from;
  TRY_ASSIGN(options.zone, Zone::load(zone_name));
  TRY_ASSIGN(const Json* dst, fields.optional("dst", JsonType::object));
  if (dst != nullptr) {
    const JsonFields policies = JsonFields::open(line, *dst, "dst");
    TRY_ASSIGN(const std::string gap, policies.string("gap"));
    TRY_ASSIGN(const std::string overlap, policies.string("overlap"));
    TRY_ASSIGN(options.dst.gap, parse_dst_gap(gap));
    TRY_ASSIGN(options.dst.overlap, parse_dst_overlap(overlap));
  }
  TRY_ASSIGN(const Timetable timetable, Timetable::make(trigger, std::move(options)));

  std::string times;
  Instant after = from - Duration(1);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto found = timetable.next(after);
    if (!found) break;
    std::string text = format_instant(found->at);
    text.replace(text.size() - 5, 5, "Z");  // whole seconds
    times += fmt::format("{}\"{}\"", times.empty() ? "" : ",", text);
    after = found->at;
  }
  return fmt::format("{{\"times\":[{}]}}", times);
}

}  // namespace
}  // namespace carillon

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto result = carillon::answer(line);
    if (result) {
      std::puts(result->c_str());
    } else {
      std::puts(fmt::format("{{\"error\":{},\"code\":\"{}\"}}", carillon::json_string(result.error().message),
                            carillon::to_string(result.error().code))
                    .c_str());
    }
    std::fflush(stdout);
  }
}
