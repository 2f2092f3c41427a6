#include "core/random_triggers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <vector>

#include "core/recurrence/cron.h"
#include "core/recurrence/rrule.h"
#include "core/times.h"

namespace carillon::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;

bool chance(int one_in) { return draw(0, one_in - 1) == one_in - 1; }

std::vector<int> numbers(int low, int high, int most) {
  std::vector<int> list;
  for (int i = draw(1, most); i > 0; --i) list.push_back(draw(low, high));
  return list;
}

// Some of them counted from the end.
std::vector<int> numbers_from_ends(int high, int most) {
  std::vector<int> list = numbers(1, high, most);
  for (int& number : list) number = chance(3) ? -number : number;
  return list;
}

void add_list(std::string& rule, std::string_view name, const std::vector<int>& list) {
  rule += fmt::format(";{}={}", name, fmt::join(list, ","));
}

constexpr std::array kDays{"MO", "TU", "WE", "TH", "FR", "SA", "SU"};

std::string any_days(int ordinal_max) {
  std::vector<std::string> list;
  for (int i = draw(1, 3); i > 0; --i) {
    const int ordinal = ordinal_max > 0 && chance(2) ? draw(1, ordinal_max) : 0;
    list.push_back(fmt::format("{}{}{}", ordinal > 0 && chance(2) ? "-" : "",
                               ordinal > 0 ? std::to_string(ordinal) : "", pick(kDays)));
  }
  return fmt::format("{}", fmt::join(list, ","));
}

LocalSeconds any_local_time() {
  const auto day =
      std::chrono::floor<std::chrono::days>(local("2005-01-01T00:00:00")) + std::chrono::days(draw(0, 9000));
  // Often in the small hours, where clocks change.
  return day + (chance(2) ? seconds(1800 * draw(0, 8)) : seconds(draw(0, 86399)));
}

Instant any_instant() { return Instant((any_local_time() - LocalSeconds{}) * 1); }

std::string compact(LocalSeconds time) {
  std::string text = format_local_seconds(time);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

std::string any_field(int low, int high) {
  switch (draw(0, 5)) {
    case 0: return std::to_string(draw(low, high));
    case 1: return fmt::format("{}", fmt::join(numbers(low, high, 3), ","));
    case 2: return fmt::format("*/{}", draw(1, high - low + 1));
    case 3: {
      const int first = draw(low, high);
      return fmt::format("{}-{}", first, draw(first, high));
    }
    case 4: return fmt::format("{}/{}", draw(low, high), draw(1, high - low));
    default: return "*";
  }
}

Trigger any_trigger_kind() {
  switch (draw(0, 9)) {
    case 0: return OnceTrigger{.at = any_instant()};
    case 1: {
      EveryTrigger every{.every = seconds(pick(std::array{1, 7, 60, 90, 3600, 7200, 86400, 100'000})), .anchor = {}};
      if (chance(2)) every.anchor = any_instant() + std::chrono::microseconds(draw(0, 999'999));
      return every;
    }
    case 2: return DailyTrigger{.at = {draw(0, 86399)}};
    case 3: {
      WeeklyTrigger weekly{.on = {}, .at = {draw(0, 86399)}};
      for (int i = draw(1, 3); i > 0; --i) weekly.on.push_back(static_cast<Weekday>(draw(0, 6)));
      return weekly;
    }
    case 4:
    case 5: return CronTrigger{.cron = any_cron()};
    default: return RruleTrigger{.rrule = any_rrule({}), .start = any_local_time()};
  }
}

std::string describe(const Trigger& trigger) {
  if (const auto* once = std::get_if<OnceTrigger>(&trigger)) return "once " + format_instant(once->at);
  if (const auto* daily = std::get_if<DailyTrigger>(&trigger)) return "daily " + format_time_of_day(daily->at);
  if (const auto* cron = std::get_if<CronTrigger>(&trigger)) return "cron " + cron->cron;
  if (const auto* rrule = std::get_if<RruleTrigger>(&trigger)) {
    return fmt::format("rrule {} from {}", rrule->rrule, rrule->start->text());
  }
  if (const auto* weekly = std::get_if<WeeklyTrigger>(&trigger)) {
    std::string text = "weekly";
    for (const Weekday day : weekly->on) text += fmt::format(" {}", short_name(day));
    return text + " " + format_time_of_day(weekly->at);
  }
  const auto& every = std::get<EveryTrigger>(trigger);
  return fmt::format("every {} from {}", format_duration(every.every),
                     every.anchor ? format_instant(*every.anchor) : "creation");
}

}  // namespace

std::string any_zone() { return std::string(pick(kZones)); }

DstPolicy any_dst_policy() {
  return {.gap = static_cast<DstGap>(draw(0, 2)), .overlap = static_cast<DstOverlap>(draw(0, 2))};
}

std::string any_rrule(RruleLimits limits) {
  constexpr std::array kFrequencies{"YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"};
  const int frequency = draw(0, limits.wall_clock ? 3 : 6);
  const bool yearly = frequency == 0;
  const bool monthly = frequency == 1;
  const bool weekly = frequency == 2;
  std::string rule = fmt::format("FREQ={}", kFrequencies[static_cast<std::size_t>(frequency)]);
  if (chance(2)) rule += fmt::format(";INTERVAL={}", draw(1, 13));
  if (chance(4)) rule += fmt::format(";WKST={}", pick(kDays));

  const std::size_t before_by = rule.size();
  if (chance(4)) add_list(rule, "BYMONTH", numbers(1, 12, 3));
  const bool week_numbers = yearly && chance(4);
  if (week_numbers) add_list(rule, "BYWEEKNO", numbers_from_ends(53, 3));
  if ((yearly || frequency > 3) && chance(5)) add_list(rule, "BYYEARDAY", numbers_from_ends(366, 5));
  if (!weekly && chance(4)) add_list(rule, "BYMONTHDAY", numbers_from_ends(31, 4));
  if (chance(3)) {
    const int ordinal_max = yearly && !week_numbers ? 20 : monthly ? 5 : 0;
    rule += ";BYDAY=" + any_days(ordinal_max);
  }
  if (chance(3)) add_list(rule, "BYHOUR", numbers(0, chance(2) ? 4 : 23, 3));
  if (chance(3)) add_list(rule, "BYMINUTE", numbers(0, 59, 3));
  if (chance(4)) add_list(rule, "BYSECOND", numbers(0, 59, 2));
  if (rule.size() != before_by && chance(4)) add_list(rule, "BYSETPOS", numbers_from_ends(4, 2));

  if (limits.ends && chance(4))
    rule += fmt::format(";COUNT={}", draw(1, 250));
  else if (limits.ends && chance(4)) {
    rule += fmt::format(";UNTIL={}{}", compact(any_local_time() + std::chrono::days(3000)), chance(2) ? "Z" : "");
  }
  return rule;
}

std::string any_cron() {
  std::string day = any_field(1, 31);
  std::string weekday = any_field(0, 6);
  if (chance(3)) day = pick(std::array<std::string, 6>{"L", "LW", "L-2", "15W", "1W", "1,L"});
  if (chance(3)) weekday = pick(std::array<std::string, 6>{"FRI#2", "5L", "mon-fri", "SUN", "7", "sat#L"});
  if (chance(2)) day = "*";
  if (chance(2)) weekday = "*";
  const std::string hour = chance(3) ? std::to_string(draw(0, 3)) : any_field(0, 23);
  const std::string month = chance(2) ? "*" : any_field(1, 12);
  const std::string rest = fmt::format("{} {} {} {} {}", any_field(0, 59), hour, day, month, weekday);
  return chance(4) ? any_field(0, 59) + " " + rest : rest;
}

AnyTrigger any_trigger() {
  AnyTrigger any{.trigger = any_trigger_kind(), .options = {}, .description = {}};
  const std::string zone_name = any_zone();
  any.options.zone = zone(zone_name);
  any.options.dst = any_dst_policy();
  any.options.created_at = any_instant();
  if (chance(6)) any.options.starts_at = any_instant() + std::chrono::microseconds(draw(0, 1));
  if (chance(6)) any.options.ends_at = any_instant() + std::chrono::days(9000);
  any.description = fmt::format("{} in {}, gap {}, overlap {}, created {}", describe(any.trigger), zone_name,
                                to_string(any.options.dst.gap), to_string(any.options.dst.overlap),
                                format_instant(any.options.created_at));
  if (any.options.starts_at) any.description += ", starts_at " + format_instant(*any.options.starts_at);
  if (any.options.ends_at) any.description += ", ends_at " + format_instant(*any.options.ends_at);
  if (chance(5)) {
    const LocalDays begin = std::chrono::floor<std::chrono::days>(any_local_time());
    for (int i = draw(1, 4); i > 0; --i) any.options.exclude_dates.insert(begin + std::chrono::days(draw(0, 7)));
    for (const LocalDays day : any.options.exclude_dates) any.description += ", without " + format_date(day);
  }
  return any;
}

AnyTimetable any_timetable() {
  const AnyTrigger any = any_trigger();
  RC_LOG() << any.description << '\n';
  auto timetable = Timetable::make(any.trigger, any.options);
  if (!timetable) {
    RC_LOG() << timetable.error().message << '\n';
    RC_ASSERT(timetable.error().code == ErrorCode::invalid_configuration);
    RC_DISCARD("it never fires");
  }
  // Cron and daily rules reach back to year 1; the walk begins where the other kinds do.
  Instant begin = utc("2005-01-01T00:00:00Z") - std::chrono::days(2);
  if (!timetable->next(begin)) RC_DISCARD("it fires only before the years that are looked at");
  return {.timetable = *std::move(timetable), .begin = begin, .description = any.description};
}

}  // namespace carillon::test
