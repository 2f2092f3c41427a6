// weekly: a local time, on some days of the week.
#include <fmt/format.h>

#include "base/text_cursor.h"
#include "core/kinds/kind_fields.h"
#include "core/kinds/wall_clock.h"
#include "core/triggers/trigger_kind.h"

namespace carillon {

namespace {

constexpr auto kWeeklyFields = field_names("kind", "on", "at");
constexpr auto kS1WeeklyFields = field_names("type", "day", "hour", "minute");

Result<Weekday> parse_day(std::string_view text) {
  TextCursor cursor("day", text);
  TRY_ASSIGN(const Weekday day, parse_weekday(cursor));
  if (!cursor.at_end()) return cursor.expected("the end after the day's name");
  return day;
}

Result<Trigger> read_weekly(std::string_view text, const JsonFields& fields) {
  WeeklyTrigger trigger;
  TRY_ASSIGN(const Json* on, fields.required("on", JsonType::array));
  for (std::size_t i = 0; i < on->items.size(); ++i) {
    TRY_ASSIGN(const Weekday day,
               read_text_as(text, on->items[i], fmt::format("{}[{}]", fields.path_of("on"), i), parse_day));
    trigger.on.push_back(day);
  }
  if (trigger.on.empty()) return fields.fail(*on, "on", "expected at least one day name");
  TRY_ASSIGN(trigger.at, required_time_of_day(text, fields, "at"));
  return trigger;
}

// Its days are numbers, 0 = Monday.
Result<Trigger> read_s1_weekly(std::string_view /*text*/, const JsonFields& fields) {
  TRY_ASSIGN(const std::int64_t day, fields.integer("day", {0, 6}));
  TRY_ASSIGN(const TimeOfDay at, hour_and_minute(fields));
  return WeeklyTrigger{.on = {static_cast<Weekday>(day)}, .at = at};
}

Result<Trigger> read_weekly_text(std::string_view text) {
  TextCursor cursor("weekly trigger", text);
  WeeklyTrigger trigger;
  do {
    TRY_ASSIGN(const Weekday day, parse_weekday(cursor));
    trigger.on.push_back(day);
  } while (cursor.eat(','));
  if (!cursor.eat('@')) return cursor.expected("@ and a time, as in mon,fri@08:00");
  TRY_ASSIGN(trigger.at, read_time_of_day(cursor));
  if (!cursor.at_end()) return cursor.expected("the end after the time");
  return trigger;
}

Result<Timetable::Source> weekly_times(const Trigger& trigger, const Timetable::Options& options) {
  const auto& weekly = std::get<WeeklyTrigger>(trigger);
  WallClockRule rule{.parts = rule_at(Frequency::weekly, weekly.at), .name = "weekly"};
  for (const Weekday day : weekly.on) rule.parts.by_day.push_back({.day = day, .nth = 0});
  return times_of(rule, options);
}

}  // namespace

const TriggerKind& WeeklyTrigger::kind() {
  static const TriggerKind row{.name = "weekly",
                               .fields = kWeeklyFields,
                               .read = read_weekly,
                               .shown_field = "at",
                               .s1_type = "weekly",
                               .s1_fields = kS1WeeklyFields,
                               .read_s1 = read_s1_weekly,
                               .example = "weekly:mon,fri@08:00",
                               .means = "on those days",
                               .read_text = read_weekly_text,
                               .times = weekly_times};
  return row;
}

}  // namespace carillon
