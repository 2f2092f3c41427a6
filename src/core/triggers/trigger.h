// What makes a schedule fire, as a user writes it. All that is known about a kind is in kinds/<name>.cpp; what may be
// asked about it, in trigger_kind.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "core/time/duration.h"
#include "core/time/given_time.h"
#include "core/time/instant.h"
#include "core/time/local_time.h"

namespace carillon {

struct TriggerKind;

struct OnceTrigger {
  static const TriggerKind& kind();
  Instant at;
};

// anchor + k · every, in absolute time. Without an anchor it is the schedule's creation, which is not itself a time.
struct EveryTrigger {
  static const TriggerKind& kind();
  Duration every{};
  std::optional<Instant> anchor;
};

struct DailyTrigger {
  static const TriggerKind& kind();
  TimeOfDay at;
};

struct WeeklyTrigger {
  static const TriggerKind& kind();
  std::vector<Weekday> on;
  TimeOfDay at;
};

struct CronTrigger {
  static const TriggerKind& kind();
  std::string cron;
};

struct RruleTrigger {
  static const TriggerKind& kind();
  std::string rrule;
  std::optional<GivenTime> start;  // default: the schedule's creation
};

// Fires when another schedule's occurrence is done; has no times of its own.
struct AfterTrigger {
  static const TriggerKind& kind();
  std::string schedule;
};

// Once per local day, tried again and again in the window before `due`, and given up at it.
struct DeliveryTrigger {
  static const TriggerKind& kind();
  TimeOfDay due;                               // the cutoff
  Duration window = std::chrono::minutes(60);  // before it
  Duration retry_delay = std::chrono::minutes(10);
  bool spread = false;  // over the window, so that one retry still fits, instead of all at its start
};

// One job for each span of time, each beginning where the one before ends, when the span is over.
struct WindowsTrigger {
  static const TriggerKind& kind();
  Duration interval{};
  Duration lag = std::chrono::minutes(1);     // from the end of a window until it is due
  std::optional<std::uint32_t> max_backfill;  // open at once; nothing: what the configuration says
  std::optional<Duration> max_age;            // since its end: older ones are missed
  std::string mode;                           // handed to the jobs
};

// How far apart checks are: a point between the two, or the one if they are the same.
struct CheckSpan {
  Duration min{};
  Duration max{};
  friend bool operator==(const CheckSpan&, const CheckSpan&) = default;
};

// Checks that come closer together the nearer a subject's expected time is.
struct AdaptiveTrigger {
  static const TriggerKind& kind();
  struct Band {
    Duration within{};  // of the expected time, before or after it
    CheckSpan every;
  };
  std::vector<Band> bands;  // `within` ascends
  CheckSpan otherwise;      // also if nothing is expected
  std::optional<Duration> floor;
  std::optional<Duration> ceiling;
};

// A new kind is registered here, and nowhere else. `kind()` says all about it, in kinds/<name>.cpp.
using Trigger = std::variant<OnceTrigger, EveryTrigger, DailyTrigger, WeeklyTrigger, CronTrigger, RruleTrigger,
                             AfterTrigger, DeliveryTrigger, WindowsTrigger, AdaptiveTrigger>;

inline constexpr Duration kEveryMin = std::chrono::seconds(1);
inline constexpr Duration kDeliveryWindowEnd = std::chrono::hours(20);  // a window is shorter than this
inline constexpr std::uint32_t kMaxBackfillMax = 1000;
inline constexpr std::size_t kBandsMax = 32;

// What the configuration may set about windows.
struct WindowDefaults {
  std::uint32_t max_backfill = 6;
  Duration min_window = std::chrono::seconds(60);
  friend bool operator==(const WindowDefaults&, const WindowDefaults&) = default;
};

// Each subject is planned on its own terms, and there is no timetable.
bool plans_by_subject(const Trigger& trigger);

// A duration that `every` can take: at least a second.
Result<Duration> parse_interval(std::string_view text);

// The short form of the command line: `cron:0 8 * * *`, `daily:08:00`.
Result<Trigger> parse_trigger_text(std::string_view text);

// The long form: {"kind": "weekly", "on": ["mon"], "at": "08:00"}, or the frequencies of S1:
// {"type": "weekly", "day": 4, "hour": 6, "minute": 0} with 0 = Monday. `value` lies in `text`, under the name `path`.
// What can be read but cannot work is invalid_configuration.
Result<Trigger> parse_trigger_json(std::string_view text, const Json& value, const std::string& path);

}  // namespace carillon
