// The one engine behind every wall-clock kind of trigger: daily, weekly, cron and rrule all lower to a RecurrenceRule.
//
// It answers: when is the next occurrence strictly after a given instant? The answer is a pure function of the rule,
// its start, the zone and the DST policy; it costs the same however far away the start is, and it is bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/error.h"
#include "core/recurrence/absolute_rule.h"
#include "core/recurrence/day_rule.h"
#include "core/recurrence/wall_rule.h"
#include "core/time/dst.h"
#include "core/time/instant.h"
#include "core/time/zone.h"

namespace carillon {

enum class Frequency : std::uint8_t { yearly, monthly, weekly, daily, hourly, minutely, secondly };

// The parts of an RFC 5545 RRULE, and what cron adds to them. An empty list is a part that was not given.
struct RecurrenceRule {
  Frequency frequency = Frequency::daily;
  std::int64_t interval = 1;
  std::optional<std::uint64_t> count;
  std::optional<Instant> until;             // given in UTC
  std::optional<LocalSeconds> until_local;  // given in local time
  bool until_whole_day = false;             // given as a date: until_local is that day's last second
  std::size_t until_column = 0;             // where UNTIL was in the text
  std::vector<int> by_month;
  std::vector<int> by_week_number;
  std::vector<int> by_year_day;
  std::vector<int> by_month_day;
  std::vector<NthWeekday> by_day;
  std::vector<int> by_hour;
  std::vector<int> by_minute;
  std::vector<int> by_second;
  std::vector<int> by_set_position;
  Weekday week_start = Weekday::monday;

  // Cron only: see DayRule.
  std::vector<int> nearest_weekdays;
  bool last_weekday = false;
  bool either_day = false;
};

struct Occurrence {
  Instant at;
  LocalSeconds local;  // what the rule asked for; `at` shows another local time if a clock change moved it
  DstNote note = DstNote::none;
};

// What counting may cost.
inline constexpr std::int64_t kCountSteps = 100'000;

class Recurrence {
 public:
  struct Frame {
    LocalSeconds start;  // DTSTART: fixes the phase and what the rule leaves out; an occurrence only if it matches
    Zone zone;
    DstPolicy dst;
    Instant after = kInstantMin;  // nothing up to then is an occurrence, nor counts for COUNT
  };
  // Refuses a rule that can never fire. COUNT is resolved here, once, to the instant of the last occurrence.
  static Result<Recurrence> make(const RecurrenceRule& rule, const Frame& frame);

  // The first occurrence strictly after `after`.
  std::optional<Occurrence> next(Instant after) const;
  // The same for one of many questions, which have one budget.
  std::optional<Occurrence> next(Instant after, StepBudget& budget) const;

  // How many occurrences there are in (after, upto]; nothing if counting would cost too much.
  std::optional<std::uint64_t> count(Instant after, Instant upto) const;
  std::optional<std::uint64_t> count(Instant after, Instant upto, StepBudget& budget) const;

  // Local times of the rule in (after, upto] that do not exist and that the gap policy skips, at most `most`.
  std::vector<Occurrence> skipped(Instant after, Instant upto, std::size_t most) const;

 private:
  Recurrence(std::variant<WallRule, AbsoluteRule> rule, Frame frame)
      : rule_(std::move(rule)), frame_(std::move(frame)) {}

  std::optional<Occurrence> next_wall(const WallRule& rule, UnixSeconds after) const;
  std::optional<std::uint64_t> count_wall(const WallRule& rule, UnixSeconds from, UnixSeconds to,
                                          StepBudget& budget) const;
  Result<Instant> nth(std::uint64_t n, Instant from) const;

  std::variant<WallRule, AbsoluteRule> rule_;
  Frame frame_;
  Instant last_ = kInstantMax;  // UNTIL and COUNT
};

}  // namespace carillon
