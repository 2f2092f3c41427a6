#include <fmt/format.h>

#include <algorithm>

#include "core/trigger.h"

namespace carillon {

namespace {

// Reads a text of its own kind (a time, a duration) out of a JSON string, and says where in the document it stood.
template <typename T>
Result<T> read_text(std::string_view text, const Json& value, const std::string& path,
                    Result<T> (*parse)(std::string_view)) {
  if (value.type != JsonType::string) {
    return json_error(text, value.offset, path, fmt::format("expected a string, found {}", describe(value.type)));
  }
  auto parsed = parse(value.text);
  if (!parsed) return json_error(text, value.offset, path, parsed.error().message);
  return parsed;
}

template <typename T>
Result<T> required_text(std::string_view text, JsonFields& fields, std::string_view name,
                        Result<T> (*parse)(std::string_view)) {
  TRY_ASSIGN(const Json* value, fields.required(name, JsonType::string));
  return read_text(text, *value, fields.path_of(name), parse);
}

Result<Weekday> parse_day(std::string_view text) {
  TextCursor cursor("day", text);
  TRY_ASSIGN(const Weekday day, parse_weekday(cursor));
  if (!cursor.at_end()) return cursor.expected("the end after the day's name");
  return day;
}

Result<Trigger> once(std::string_view text, JsonFields& fields) {
  if (const Json* at = fields.optional("at")) {
    TRY_ASSIGN(const Instant instant, read_json_instant(text, *at, fields.path_of("at")));
    return OnceTrigger{.at = instant};
  }
  return fields.missing("at", "an instant as RFC 3339 or Unix milliseconds");
}

Result<Trigger> every(std::string_view text, JsonFields& fields) {
  EveryTrigger trigger;
  TRY_ASSIGN(trigger.every, required_text(text, fields, "every", parse_interval));
  if (const Json* anchor = fields.optional("anchor")) {
    TRY_ASSIGN(trigger.anchor, read_json_instant(text, *anchor, fields.path_of("anchor")));
  }
  return trigger;
}

Result<Trigger> weekly(std::string_view text, JsonFields& fields) {
  WeeklyTrigger trigger;
  TRY_ASSIGN(const Json* on, fields.required("on", JsonType::array));
  for (std::size_t i = 0; i < on->items.size(); ++i) {
    TRY_ASSIGN(const Weekday day,
               read_text(text, on->items[i], fmt::format("{}[{}]", fields.path_of("on"), i), parse_day));
    trigger.on.push_back(day);
  }
  if (trigger.on.empty()) return fields.fail(*on, "on", "expected at least one day name");
  TRY_ASSIGN(trigger.at, required_text(text, fields, "at", parse_time_of_day));
  return trigger;
}

Result<Trigger> rrule(std::string_view text, JsonFields& fields) {
  RruleTrigger trigger;
  TRY_ASSIGN(trigger.rrule, fields.string("rrule"));
  if (const Json* start = fields.optional("start")) {
    TRY_ASSIGN(trigger.start, read_text(text, *start, fields.path_of("start"), parse_local_seconds));
  }
  return trigger;
}

Result<Trigger> after(JsonFields& fields) {
  AfterTrigger trigger;
  TRY_ASSIGN(trigger.schedule, fields.string("schedule"));
  TRY_ASSIGN(const Json* on, fields.optional("on", JsonType::string));
  if (on != nullptr && on->text != "done") return fields.fail(*on, "on", "the only value is \"done\"");
  return trigger;
}

Result<Trigger> by_kind(std::string_view text, const std::string& kind, JsonFields& fields, const Json& at) {
  if (kind == "once") return once(text, fields);
  if (kind == "every") return every(text, fields);
  if (kind == "weekly") return weekly(text, fields);
  if (kind == "rrule") return rrule(text, fields);
  if (kind == "after") return after(fields);
  if (kind == "daily") {
    TRY_ASSIGN(const TimeOfDay time, required_text(text, fields, "at", parse_time_of_day));
    return DailyTrigger{.at = time};
  }
  if (kind == "cron") {
    TRY_ASSIGN(std::string cron, fields.string("cron"));
    return CronTrigger{.cron = std::move(cron)};
  }
  return fields.fail(
      at, "kind",
      fmt::format("unknown kind {}; allowed are once, every, daily, weekly, cron, rrule, after", quoted(kind)));
}

Result<TimeOfDay> hour_and_minute(JsonFields& fields) {
  TRY_ASSIGN(const std::int64_t hour, fields.integer("hour", {0, 23}));
  TRY_ASSIGN(const std::int64_t minute, fields.integer("minute", {0, 59}));
  return TimeOfDay{static_cast<std::int32_t>(hour * 3600 + minute * 60)};
}

// S1's own frequencies. Its days are numbers, 0 = Monday.
Result<Trigger> by_s1_type(std::string_view text, const std::string& type, JsonFields& fields, const Json& at) {
  if (type == "daily") {
    TRY_ASSIGN(const TimeOfDay time, hour_and_minute(fields));
    return DailyTrigger{.at = time};
  }
  if (type == "weekly") {
    TRY_ASSIGN(const std::int64_t day, fields.integer("day", {0, 6}));
    TRY_ASSIGN(const TimeOfDay time, hour_and_minute(fields));
    return WeeklyTrigger{.on = {static_cast<Weekday>(day)}, .at = time};
  }
  if (type == "every_n_hours") {
    constexpr std::int64_t kHoursMax = kDurationMax / std::chrono::hours(1);
    TRY_ASSIGN(const std::int64_t hours, fields.integer("hours", {1, kHoursMax}));
    return EveryTrigger{.every = std::chrono::hours(hours)};
  }
  if (type == "once") {
    // S1 keeps the time beside the frequency, as scheduled_for.
    const Json* scheduled_for = fields.optional("scheduled_for");
    if (scheduled_for == nullptr) return once(text, fields);
    TRY_ASSIGN(const Instant instant, read_json_instant(text, *scheduled_for, fields.path_of("scheduled_for")));
    return OnceTrigger{.at = instant};
  }
  return fields.fail(at, "type",
                     fmt::format("unknown type {}; allowed are once, daily, weekly, every_n_hours", quoted(type)));
}

}  // namespace

Result<Instant> read_json_instant(std::string_view text, const Json& value, const std::string& path) {
  if (value.type != JsonType::string && value.type != JsonType::number) {
    return json_error(
        text, value.offset, path,
        fmt::format("expected an instant as RFC 3339 or Unix milliseconds, found {}", describe(value.type)));
  }
  auto parsed = parse_instant(value.text);
  if (!parsed) return json_error(text, value.offset, path, parsed.error().message);
  return parsed;
}

Result<Trigger> parse_trigger_json(std::string_view text, const Json& value, const std::string& path) {
  if (value.type != JsonType::object) {
    return json_error(text, value.offset, path, fmt::format("expected an object, found {}", describe(value.type)));
  }
  JsonFields fields(text, value, path);
  const bool s1 = !fields.has("kind") && fields.has("type");
  const std::string_view selector = s1 ? "type" : "kind";
  TRY_ASSIGN(const Json* selected, fields.required(selector, JsonType::string));
  TRY_ASSIGN(Trigger trigger, s1 ? by_s1_type(text, selected->text, fields, *selected)
                                 : by_kind(text, selected->text, fields, *selected));
  TRY(fields.finish());
  return trigger;
}

}  // namespace carillon
