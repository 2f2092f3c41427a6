#include <fmt/format.h>

#include <array>

#include "base/nearest_name.h"
#include "base/text_cursor.h"
#include "core/trigger.h"

namespace carillon {

namespace {

constexpr std::string_view kForms =
    "cron:0 8 * * *, rrule:FREQ=DAILY, every:2h, daily:08:00, weekly:mon,fri@08:00, once:2026-03-29T01:00:00Z, "
    "delivery:08:00, windows:1h";

constexpr std::array<std::string_view, 9> kTextKinds{"cron", "rrule", "every",    "daily",  "weekly",
                                                     "once", "after", "delivery", "windows"};

Result<Trigger> weekly(std::string_view text) {
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

}  // namespace

Result<Duration> parse_interval(std::string_view text) {
  TRY_ASSIGN(const Duration every, parse_duration(text));
  if (every < kEveryMin) return TextCursor("duration", text).fail("an interval must be at least 1s");
  return every;
}

Result<Trigger> parse_trigger_text(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (colon == std::string_view::npos) {
    return TextCursor("trigger", text).fail(fmt::format("expected a kind and a colon, like {}", kForms));
  }
  if (kind == "cron") return CronTrigger{.cron = std::string(rest)};
  if (kind == "rrule") return RruleTrigger{.rrule = std::string(rest)};
  if (kind == "weekly") return weekly(rest);
  if (kind == "after") return AfterTrigger{.schedule = std::string(rest)};
  if (kind == "daily") {
    TRY_ASSIGN(const TimeOfDay at, parse_time_of_day(rest));
    return DailyTrigger{.at = at};
  }
  if (kind == "every") {
    TRY_ASSIGN(const Duration every, parse_interval(rest));
    return EveryTrigger{.every = every};
  }
  if (kind == "once") {
    TRY_ASSIGN(const Instant at, parse_instant(rest));
    return OnceTrigger{.at = at};
  }
  if (kind == "delivery") {
    TRY_ASSIGN(const TimeOfDay due, parse_time_of_day(rest));
    return DeliveryTrigger{.due = due};
  }
  if (kind == "windows") {
    TRY_ASSIGN(const Duration interval, parse_interval(rest));
    WindowsTrigger trigger;
    trigger.interval = interval;
    return trigger;
  }
  return TextCursor("trigger", text)
      .fail(fmt::format("unknown kind {}{}; allowed are {}", quoted(kind), did_you_mean(kind, kTextKinds), kForms));
}

}  // namespace carillon
