#include "core/policies/limit_rule.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "core/settings/settings.h"
#include "core/settings/settings_reader.h"

namespace carillon {

namespace {

constexpr Duration kPerMin = std::chrono::milliseconds(1);

std::string number_or_null(std::optional<double> number) { return number ? fmt::format("{}", *number) : "null"; }

// What belongs together is there together, and a start comes within the horizon.
Result<void> check_rule(const LimitRule& rule, const Json& root, const SettingsReader& reader) {
  if (!rule.rate) {
    if (!rule.concurrency) return reader.cannot_work(root, "limit", "needs rate, concurrency, or both");
    for (const std::string_view name : {"per", "burst"}) {
      const Json* const value = root.find(name);
      if (value == nullptr || value->type == JsonType::null) continue;
      return reader.cannot_work(*value, reader.path_of(name), "belongs to a rate, which is not given");
    }
    return {};
  }
  if (static_cast<double>(rule.per.count()) > *rule.rate * static_cast<double>(kDurationMax.count())) {
    return reader.cannot_work(*root.find("rate"), reader.path_of("rate"),
                              "allows less than one start in 400 years; give more, or a shorter per");
  }
  return {};
}

}  // namespace

Result<LimitRule> parse_limit_rule(std::string_view json) {
  TRY_ASSIGN(const Json root, parse_settings_object(json, "limit"));
  static constexpr auto kFields = field_names("rate", "per", "burst", "concurrency");
  TRY_ASSIGN(SettingsReader reader, SettingsReader::of(json, root, "", kFields));
  LimitRule rule;
  TRY(reader.number("rate", rule.rate, {.min = 0, .max = kRateMax, .above_min = true}));
  std::optional<Duration> per;
  TRY(reader.duration("per", per, {.min = kPerMin, .max = kDurationMax}));
  rule.per = per.value_or(rule.per);
  TRY(reader.number("burst", rule.burst, {.min = 1, .max = kRateMax}));
  TRY(reader.count("concurrency", rule.concurrency, kConcurrencyMax));
  TRY(check_rule(rule, root, reader));
  return rule;
}

std::string write_limit_rule(const LimitRule& rule) {
  JsonObject object;
  object.raw("rate", number_or_null(rule.rate));
  object.raw("per", rule.rate ? json_string(format_duration(rule.per)) : "null");
  object.raw("burst", number_or_null(rule.burst));
  object.raw("concurrency", rule.concurrency ? std::to_string(*rule.concurrency) : "null");
  return object.str();
}

}  // namespace carillon
