// Quiet hours against a judge that walks minute by minute and only reads the clock on the wall.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "core/policies/gate.h"
#include "core/random_triggers.h"
#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;
using test::draw;
using test::pick;
using test::utc;
using test::zone;

// How the clock on the wall goes around a change.
struct Change {
  std::string_view zone;
  std::string_view at;
};

constexpr std::array<Change, 16> kChanges{{
    {"Europe/London", "2026-03-29T01:00:00Z"},
    {"Europe/London", "2026-10-25T01:00:00Z"},
    {"America/New_York", "2026-03-08T07:00:00Z"},
    {"America/New_York", "2026-11-01T06:00:00Z"},
    {"Australia/Lord_Howe", "2026-04-04T15:00:00Z"},  // by half an hour
    {"Australia/Lord_Howe", "2026-10-03T15:30:00Z"},
    {"America/Santiago", "2026-04-05T03:00:00Z"},  // at midnight
    {"America/Santiago", "2026-09-06T04:00:00Z"},
    {"Antarctica/Troll", "2026-03-29T01:00:00Z"},  // by two hours
    {"Antarctica/Troll", "2026-10-25T01:00:00Z"},
    {"Pacific/Chatham", "2026-04-04T14:00:00Z"},
    {"Pacific/Chatham", "2026-09-26T14:00:00Z"},
    {"Africa/Cairo", "2024-10-31T21:00:00Z"},
    {"America/Havana", "2026-11-01T05:00:00Z"},
    {"Pacific/Apia", "2011-12-30T10:00:00Z"},  // by a day
    {"Asia/Kolkata", "2026-06-01T00:00:00Z"},  // not at all
}};

// The walk goes this far to both sides of the change, and is trusted up to half as far.
constexpr auto kWalked = days(8);
constexpr auto kTrusted = days(4);

// What a clock on the wall shows at each minute, and which of the minutes are quiet.
class MinuteWalk {
 public:
  MinuteWalk(const Zone& zone, Instant middle) : begin_(middle - kWalked) {
    for (Instant t = begin_; t < middle + kWalked; t += 1min) shown_.push_back(zone.to_local(t));
    quiet_.resize(shown_.size());
  }

  void mark(const QuietHours& hours) {
    const auto first = std::chrono::floor<days>(shown_.front()) + days(1);
    const auto last = std::chrono::floor<days>(shown_.back()) - days(2);
    for (auto day = first; day <= last; day += days(1)) {
      const Weekday weekday = weekday_of(day);
      if (hours.days.empty() || std::ranges::count(hours.days, weekday) > 0) mark_day(hours, day);
    }
  }

  std::size_t size() const { return shown_.size(); }
  Instant at(std::size_t minute) const { return begin_ + minute * 1min; }
  std::size_t minute_of(Instant t) const { return static_cast<std::size_t>((t - begin_) / 1min); }
  bool is_quiet(std::size_t minute) const { return quiet_[minute]; }
  LocalSeconds shown(std::size_t minute) const { return shown_[minute]; }

  // The first minute from `minute` on that is not as it is.
  std::size_t next_flip(std::size_t minute) const {
    std::size_t next = minute;
    while (next < size() && quiet_[next] == quiet_[minute]) ++next;
    return next;
  }

 private:
  void mark_day(const QuietHours& hours, LocalDays day) {
    const LocalSeconds start = day + std::chrono::seconds(hours.start.seconds);
    const LocalSeconds end = day + days(hours.end < hours.start ? 1 : 0) + std::chrono::seconds(hours.end.seconds);
    // From the first minute at which the clock has reached the start, to the last one at which it is before the end.
    std::size_t from = 0;
    while (shown_[from] < start) ++from;
    std::size_t upto = size();
    while (shown_[upto - 1] >= end) --upto;
    if (from >= upto) return;  // skipped whole
    // The clock jumped over the end: as long as it would have taken to get there.
    if (shown_[upto] > end) upto += static_cast<std::size_t>((end - (shown_[upto - 1] + 1min)) / 1min);
    std::fill(quiet_.begin() + static_cast<std::ptrdiff_t>(from), quiet_.begin() + static_cast<std::ptrdiff_t>(upto),
              true);
  }

  Instant begin_;
  std::vector<LocalSeconds> shown_;
  std::vector<bool> quiet_;
};

// Often close to what the clock shows around the change, where everything happens.
TimeOfDay any_time(LocalSeconds near) {
  const std::int64_t middle = (near - std::chrono::floor<days>(near)) / 1min;
  std::int64_t minute = middle + draw<std::int64_t>(-150, 150);
  if (draw(0, 2) == 0) minute = draw<std::int64_t>(0, 1439);
  if (draw(0, 3) == 0) minute = middle + 30 * draw<std::int64_t>(-4, 4);  // as clocks change
  return {static_cast<std::int32_t>((minute + 1440) % 1440 * 60)};
}

QuietHours any_hours(LocalSeconds near) {
  QuietHours hours{.start = any_time(near), .end = any_time(near), .days = {}, .timezone = {}};
  if (hours.start == hours.end) hours.end.seconds = (hours.end.seconds + 60) % 86400;
  if (draw(0, 1) == 0) return hours;
  for (int day = 0; day < 7; ++day) {
    if (draw(0, 1) == 0) hours.days.push_back(static_cast<Weekday>(day));
  }
  return hours;
}

// Whether the clock shows a time between the two, on one of the days.
bool shows_quiet_time(const QuietHours& hours, LocalSeconds shown) {
  const auto day = std::chrono::floor<days>(shown);
  const TimeOfDay time{static_cast<std::int32_t>((shown - day).count())};
  const auto begins_on = [&](LocalDays d) {
    return hours.days.empty() || std::ranges::count(hours.days, weekday_of(d)) > 0;
  };
  if (hours.start < hours.end) return begins_on(day) && time >= hours.start && time < hours.end;
  return (begins_on(day) && time >= hours.start) || (begins_on(day - days(1)) && time < hours.end);
}

struct Case {
  Zone zone;
  QuietHours hours;
  MinuteWalk walk;
  Instant middle;
};

Case any_case() {
  const Change change = pick(kChanges);
  const Instant middle = utc(change.at);
  Case chosen{.zone = zone(change.zone), .hours = {}, .walk = {zone(change.zone), middle}, .middle = middle};
  chosen.hours = any_hours(chosen.zone.to_local(middle));
  chosen.walk.mark(chosen.hours);
  RC_LOG() << change.zone << " " << write_quiet_hours(chosen.hours) << '\n';
  return chosen;
}

// The minutes at which the walk flips and those beside them, and some others.
std::vector<std::size_t> minutes_to_try(const Case& chosen) {
  const std::size_t first = chosen.walk.minute_of(chosen.middle - kTrusted);
  const std::size_t last = chosen.walk.minute_of(chosen.middle + kTrusted);
  std::vector<std::size_t> minutes;
  for (std::size_t minute = first; minute < last; minute = chosen.walk.next_flip(minute)) {
    minutes.push_back(minute);
    if (minute > first) minutes.push_back(minute - 1);
  }
  const std::size_t middle = chosen.walk.minute_of(chosen.middle);
  for (int i = 0; i < 50; ++i) minutes.push_back(draw<std::size_t>(middle - 180, middle + 180));
  for (int i = 0; i < 50; ++i) minutes.push_back(draw<std::size_t>(first, last));
  return minutes;
}

RC_GTEST_PROP(GateScan, QuietHoursAndTheirEndsAreThoseOfAWalkMinuteByMinute, ()) {
  const Case chosen = any_case();
  for (const std::size_t minute : minutes_to_try(chosen)) {
    const Instant now = chosen.walk.at(minute) + Duration(draw<std::int64_t>(0, 59'999'999));
    const auto closing = quiet_at(chosen.hours, chosen.zone, now);
    RC_LOG() << format_instant(now) << '\n';
    RC_ASSERT(closing.has_value() == chosen.walk.is_quiet(minute));
    const std::size_t flip = chosen.walk.next_flip(minute);
    if (closing) RC_ASSERT(closing->until == chosen.walk.at(flip));
    const auto change = quiet_changes_after(chosen.hours, chosen.zone, now);
    RC_ASSERT(change.has_value());
    if (flip < chosen.walk.minute_of(chosen.middle + kWalked - days(3))) RC_ASSERT(*change == chosen.walk.at(flip));
  }
}

RC_GTEST_PROP(GateScan, NothingIsOpenWhileTheClockShowsAQuietTime, ()) {
  const Case chosen = any_case();
  for (const std::size_t minute : minutes_to_try(chosen)) {
    if (!shows_quiet_time(chosen.hours, chosen.walk.shown(minute))) continue;
    RC_ASSERT(quiet_at(chosen.hours, chosen.zone, chosen.walk.at(minute)).has_value());
  }
}

RC_GTEST_PROP(GateScan, WhatHoldsNowHoldsUntilTheNextChange, ()) {
  const Case chosen = any_case();
  Instant now = chosen.middle - days(3);
  for (int i = 0; i < 10; ++i) {
    const bool closed = quiet_at(chosen.hours, chosen.zone, now).has_value();
    const auto change = quiet_changes_after(chosen.hours, chosen.zone, now);
    RC_ASSERT(change.has_value());
    RC_ASSERT(*change > now);
    const Instant between = now + (*change - now) / draw(1, 20);
    RC_ASSERT(quiet_at(chosen.hours, chosen.zone, std::min(between, *change - 1us)).has_value() == closed);
    RC_ASSERT(quiet_at(chosen.hours, chosen.zone, *change).has_value() != closed);
    now = *change;
  }
}

}  // namespace
}  // namespace carillon
