// What makes a schedule fire, as a user writes it. A Timetable works out the times.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "core/duration.h"
#include "core/instant.h"
#include "core/local_time.h"

namespace carillon {

struct OnceTrigger {
  Instant at;
};

// anchor + k · every, in absolute time. Without an anchor it is the schedule's creation, which is not itself a time.
struct EveryTrigger {
  Duration every{};
  std::optional<Instant> anchor;
};

struct DailyTrigger {
  TimeOfDay at;
};

struct WeeklyTrigger {
  std::vector<Weekday> on;
  TimeOfDay at;
};

struct CronTrigger {
  std::string cron;
};

struct RruleTrigger {
  std::string rrule;
  std::optional<LocalSeconds> start;  // default: the schedule's creation
};

// Fires when another schedule's occurrence is done; has no times of its own.
struct AfterTrigger {
  std::string schedule;
};

using Trigger =
    std::variant<OnceTrigger, EveryTrigger, DailyTrigger, WeeklyTrigger, CronTrigger, RruleTrigger, AfterTrigger>;

inline constexpr Duration kEveryMin = std::chrono::seconds(1);

// A duration that `every` can take: at least a second.
Result<Duration> parse_interval(std::string_view text);

// The short form of the command line: `cron:0 8 * * *`, `rrule:FREQ=…`, `every:2h`, `daily:08:00`,
// `weekly:mon,fri@08:00`, `once:2026-03-29T01:00:00Z`.
Result<Trigger> parse_trigger_text(std::string_view text);

// The long form: {"kind": "weekly", "on": ["mon"], "at": "08:00"}, or the frequencies of S1:
// {"type": "weekly", "day": 4, "hour": 6, "minute": 0} with 0 = Monday. `value` lies in `text`, under the name `path`.
Result<Trigger> parse_trigger_json(std::string_view text, const Json& value, const std::string& path);

// An instant in JSON: a string as RFC 3339, or a number of Unix milliseconds.
Result<Instant> read_json_instant(std::string_view text, const Json& value, const std::string& path);

}  // namespace carillon
