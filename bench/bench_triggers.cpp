// Each rule is walked from result to result through twenty years and over again. Batches of it and of the raw
// reference, the least that any answer in local time costs, take turns, and the median of each counts, so that a
// machine that is busy for a while slows both. Time is that of our own thread: what other programs take does not count.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json_writer.h"
#include "bench/allocations.h"
#include "bench/bench_report.h"
#include "bench/benchmarks.h"
#include "core/triggers/timetable.h"

namespace carillon {

namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year;
using Nanoseconds = std::chrono::duration<double, std::nano>;

constexpr Instant kBegin = sys_days(year(2026) / 1 / 1);
constexpr Instant kEnd = sys_days(year(2046) / 1 / 1);
constexpr LocalSeconds kStart{LocalDays(year(2026) / 1 / 5) + std::chrono::hours(9)};

constexpr Nanoseconds kCommon = std::chrono::microseconds(2);
constexpr Nanoseconds kOther = std::chrono::microseconds(20);

struct Rule {
  std::string_view name;
  std::string_view trigger;
  std::string_view zone;
  std::optional<Nanoseconds> goal;
};

constexpr std::array<Rule, 17> kRules{{
    {"next_daily", "daily:08:00", "Europe/London", kCommon},
    {"next_daily_utc", "daily:08:00", "UTC", kCommon},
    {"next_weekly", "weekly:mon,fri@08:00", "Europe/London", kCommon},
    {"next_weekly_byday", "rrule:FREQ=WEEKLY;BYDAY=MO,WE,FR", "America/New_York", kCommon},
    {"next_cron_weekdays", "cron:30 8 * * 1-5", "Europe/London", kCommon},
    {"next_cron_five_minutes", "cron:*/5 * * * *", "Europe/London", kCommon},
    {"next_every_two_hours", "every:2h", "Europe/London", kCommon},
    {"next_cron_seconds", "cron:*/15 0,30 9-17 * * mon-fri", "Europe/London", kOther},
    {"next_cron_last_day", "cron:0 0 L * *", "Europe/London", kOther},
    {"next_cron_leap_day", "cron:0 0 29 2 *", "Europe/London", kOther},
    {"next_biweekly", "rrule:FREQ=WEEKLY;INTERVAL=2;BYDAY=TU", "Europe/London", kOther},
    {"next_monthly_second_tuesday", "rrule:FREQ=MONTHLY;BYDAY=2TU", "Europe/London", kOther},
    {"next_monthly_last_weekday", "rrule:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "Europe/London", kOther},
    {"next_yearly", "rrule:FREQ=YEARLY", "Europe/London", kOther},
    {"next_yearly_week_number", "rrule:FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "Europe/London", kOther},
    {"next_hourly_five", "rrule:FREQ=HOURLY;INTERVAL=5", "Europe/London", kOther},
    {"next_minutely_by_hour", "rrule:FREQ=MINUTELY;INTERVAL=10;BYHOUR=9,10,11", "Europe/London", kOther},
}};

// For information: what a schedule costs when it is created or loaded, its zone being known already.
constexpr std::array<Rule, 2> kMakes{{
    {"make_cron", "cron:30 8 * * 1-5", "Europe/London", {}},
    {"make_rrule", "rrule:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "Europe/London", {}},
}};

// Rules that never fire, or that ask for a long search: read, refused or answered, each within ten milliseconds.
constexpr Nanoseconds kHostile = std::chrono::milliseconds(10);
const std::vector<std::pair<std::string_view, std::string>> kHostileTriggers{
    {"hostile_february_30", "rrule:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"},
    {"hostile_cron_february_30", "cron:0 0 30 2 *"},
    {"hostile_long_count", "rrule:FREQ=SECONDLY;COUNT=999999999"},
    {"hostile_set_position_500", "rrule:FREQ=MONTHLY;BYDAY=MO;BYSETPOS=500"},
    {"hostile_set_position_300", "rrule:FREQ=MONTHLY;BYDAY=MO;BYSETPOS=300"},
    {"hostile_sixtieth_monday", "rrule:FREQ=MONTHLY;BYDAY=60MO"},
    {"hostile_never_meets", "rrule:FREQ=SECONDLY;INTERVAL=2;BYSECOND=1"},
    {"hostile_garbage_rrule", "rrule:" + std::string(10'000, '\x7f')},
    {"hostile_garbage_cron", "cron:" + std::string(10'000, '*')},
};

struct Figure {
  std::string_view name;
  double ns = 0;
  double raw_ns = 0;
  double allocations = 0;  // a call
  std::optional<Nanoseconds> goal;

  double calls_per_second() const { return 1e9 / ns; }
  double raw_per_second() const { return 1e9 / raw_ns; }
  double ratio() const { return raw_ns / ns; }
  std::string_view verdict() const {
    if (!goal) return "";
    return ns <= goal->count() ? "yes" : "NO";
  }
};

// The same local time a day later: to local time and back, without any rule.
Instant raw_next(const Zone& zone, Instant at) { return Instant(zone.resolve(zone.to_local(at) + days(1)).first); }

Timetable make(const Rule& rule, const Zone& zone) {
  Trigger trigger = parse_trigger_text(rule.trigger).value();
  if (auto* rrule = std::get_if<RruleTrigger>(&trigger)) rrule->start = kStart;
  return Timetable::make(trigger, {.zone = zone, .created_at = kBegin}).value();
}

Nanoseconds thread_time() {
  timespec now{};
  CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// One call that moves an instant on; the walk begins again where the rule or the twenty years end.
using Step = std::function<std::optional<Instant>(Instant)>;

class Walker {
 public:
  explicit Walker(Step step) : step_(std::move(step)) {}

  // The time of one call in a batch.
  Nanoseconds run(std::int64_t calls) {
    const Nanoseconds begin = thread_time();
    for (std::int64_t i = 0; i < calls; ++i) {
      const auto found = step_(at_);
      at_ = found && *found < kEnd ? *found : kBegin;
    }
    return (thread_time() - begin) / static_cast<double>(calls);
  }

  // Of a size that takes some milliseconds: long beside the clock's own cost, short beside other programs' bursts.
  std::int64_t batch_size() {
    constexpr Nanoseconds kBatch = std::chrono::milliseconds(4);
    std::int64_t calls = 64;
    while (run(calls) * static_cast<double>(calls) < kBatch) calls *= 2;
    return calls;
  }

 private:
  Step step_;
  Instant at_ = kBegin;
};

Figure measure(const Rule& rule, const Zone& zone, Step step) {
  constexpr int kRounds = 31;
  Walker ours(std::move(step));
  Walker raw([&](Instant at) { return raw_next(zone, at); });
  const std::int64_t calls = ours.batch_size();
  const std::int64_t raw_calls = raw.batch_size();

  std::vector<double> ns;
  std::vector<double> raw_ns;
  ns.reserve(kRounds);
  raw_ns.reserve(kRounds);
  const std::uint64_t allocated_before = allocations();
  for (int round = 0; round < kRounds; ++round) {
    ns.push_back(ours.run(calls).count());
    raw_ns.push_back(raw.run(raw_calls).count());
  }
  const auto allocated = static_cast<double>(allocations() - allocated_before);
  return {.name = rule.name,
          .ns = median_of(std::move(ns)),
          .raw_ns = median_of(std::move(raw_ns)),
          .allocations = allocated / static_cast<double>(kRounds * calls),
          .goal = rule.goal};
}

// The median of twenty times from the text to an answer, whichever it is.
Figure measure_hostile(std::string_view name, const std::string& text, const Zone& zone) {
  constexpr int kRounds = 20;
  std::vector<double> ns;
  std::vector<double> raw_ns;
  Walker raw([&](Instant at) { return raw_next(zone, at); });
  const std::uint64_t allocated_before = allocations();
  for (int round = 0; round < kRounds; ++round) {
    const Nanoseconds begin = thread_time();
    if (auto trigger = parse_trigger_text(text)) {
      if (auto* rrule = std::get_if<RruleTrigger>(&*trigger)) rrule->start = kStart;
      const auto timetable = Timetable::make(*trigger, {.zone = zone, .created_at = kBegin});
      if (timetable) CHECK(timetable->next(kBegin).has_value());
    }
    ns.push_back((thread_time() - begin).count());
    raw_ns.push_back(raw.run(1000).count());
  }
  const auto allocated = static_cast<double>(allocations() - allocated_before);
  return {.name = name,
          .ns = median_of(std::move(ns)),
          .raw_ns = median_of(std::move(raw_ns)),
          .allocations = allocated / kRounds,
          .goal = kHostile};
}

std::vector<Figure> measure_all() {
  std::vector<Figure> figures;
  for (const Rule& rule : kRules) {
    const Zone zone = Zone::load(rule.zone).value();
    const Timetable timetable = make(rule, zone);
    figures.push_back(measure(rule, zone, [&](Instant at) -> std::optional<Instant> {
      const auto found = timetable.next(at);
      return found ? std::optional(found->at) : std::nullopt;
    }));
  }
  for (const Rule& rule : kMakes) {
    const Zone zone = Zone::load(rule.zone).value();
    figures.push_back(measure(rule, zone, [&](Instant) { return make(rule, zone).next(kBegin)->at; }));
  }
  const Zone zone = Zone::load("Europe/London").value();
  for (const auto& [name, text] : kHostileTriggers) figures.push_back(measure_hostile(name, text, zone));
  return figures;
}

std::string table_of(const std::vector<Figure>& figures) {
  std::string table = fmt::format("{:<28} {:>9} {:>12} {:>12} {:>9} {:>9} {:>4}\n", "name", "ns/call", "calls/s",
                                  "allocs/call", "raw ns", "goal ns", "ok?");
  for (const Figure& figure : figures) {
    table += fmt::format("{:<28} {:>9.0f} {:>12.0f} {:>12.2f} {:>9.0f} {:>9} {:>4}\n", figure.name, figure.ns,
                         figure.calls_per_second(), figure.allocations, figure.raw_ns,
                         figure.goal ? fmt::format("{:.0f}", figure.goal->count()) : "", figure.verdict());
  }
  return table;
}

std::string json_of(const std::vector<Figure>& figures) {
  JsonArray results;
  for (const Figure& figure : figures) {
    JsonObject object;
    object.text("name", figure.name).raw("ours", fmt::format("{:.0f}", figure.calls_per_second()));
    object.raw("raw", fmt::format("{:.0f}", figure.raw_per_second()));
    object.raw("ratio", fmt::format("{:.4f}", figure.ratio())).raw("ns", fmt::format("{:.1f}", figure.ns));
    object.raw("allocations", fmt::format("{:.3f}", figure.allocations));
    results.raw(object.str());
  }
  return JsonObject().raw("results", results.str()).str() + "\n";
}

}  // namespace

Result<std::string> run_bench_triggers(const BenchRequest& request) {
  const std::vector<Figure> figures = measure_all();
  return request.json ? json_of(figures) : table_of(figures);
}

}  // namespace carillon
