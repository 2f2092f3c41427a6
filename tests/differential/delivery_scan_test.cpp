// The days of deliveries, against the walk that counts minutes: which days there are, and when each is cut off.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/kinds/delivery.h"
#include "minute_scan.h"

namespace carillon {
namespace {

struct Span {
  std::string_view zone;
  int first_year;
  int end_year;
};

struct Expected {
  std::int64_t day;  // since 1970
  std::int64_t cutoff;
};

// Minute by minute: a day of which the wall showed no minute is none.
bool exists(const scan::Walk& walk, std::int64_t midnight) {
  for (std::int64_t minute = 0; minute < scan::kDay; minute += scan::kMinute) {
    if (walk.at_local(midnight + minute).passes > 0) return true;
  }
  return false;
}

std::optional<std::int64_t> cutoff_of(const scan::LocalMinute& due, DstPolicy policy) {
  if (due.passes == 2 && policy.overlap == DstOverlap::second) return due.second_pass;
  if (due.passes > 0) return due.first_pass;
  switch (policy.gap) {
    case DstGap::shift: return due.jumped_by + due.minutes_into_gap * scan::kMinute;
    case DstGap::next_valid: return due.jumped_by;
    case DstGap::skip: return std::nullopt;
  }
  return std::nullopt;
}

std::vector<Expected> scanned(const scan::Walk& walk, std::int64_t from, std::int64_t to, int due, DstPolicy policy) {
  std::vector<Expected> days;
  for (std::int64_t midnight = from; midnight < to; midnight += scan::kDay) {
    if (!exists(walk, midnight)) continue;
    if (const auto cutoff = cutoff_of(walk.at_local(midnight + due * scan::kMinute), policy)) {
      days.push_back({.day = midnight / scan::kDay, .cutoff = *cutoff});
    }
  }
  return days;
}

std::string line(std::int64_t day, std::int64_t cutoff) {
  return fmt::format("day {} cutoff {}", format_date(LocalDays(std::chrono::days(day))),
                     format_instant(Instant(std::chrono::seconds(cutoff))));
}

void expect_same(const Span& span) {
  const scan::ZoneOffsets offsets =
      scan::run_zdump(std::string(span.zone), {.first = span.first_year - 1, .end = span.end_year + 1});
  const std::int64_t from = scan::local_time({span.first_year, 1, 1}, {});
  const std::int64_t to = scan::local_time({span.end_year, 1, 1}, {});
  const scan::Walk walk(offsets, from, to);
  const auto zone = Zone::load(span.zone);
  ASSERT_TRUE(zone) << span.zone;
  int compared = 0;
  for (const DstGap gap : {DstGap::shift, DstGap::skip, DstGap::next_valid}) {
    for (const DstOverlap overlap : {DstOverlap::first, DstOverlap::second}) {
      for (const int due : {0, 15, 30, 60, 75, 90, 119, 120, 150, 180, 210, 480, 1380, 1410, 1439}) {
        const DstPolicy policy{.gap = gap, .overlap = overlap};
        const DeliveryCalendar calendar({.trigger = {.due = {due * 60}}, .times = {.zone = *zone, .dst = policy}});
        // Not the last days: what lies there may have been moved out of what is known.
        const auto days = scanned(walk, from + 2 * scan::kDay, to - 2 * scan::kDay, due, policy);
        LocalDays before{std::chrono::days(from / scan::kDay + 1)};
        for (const Expected& expected : days) {
          const auto found = calendar.after(before);
          ASSERT_TRUE(found);
          ASSERT_EQ(line(found->day.time_since_epoch().count(),
                         std::chrono::floor<std::chrono::seconds>(found->cutoff).time_since_epoch().count()),
                    line(expected.day, expected.cutoff))
              << span.zone << ' ' << to_string(gap) << ' ' << to_string(overlap) << " due minute " << due;
          ASSERT_EQ(calendar.first_ahead(found->cutoff - Duration(1)).value().day, found->day);
          ASSERT_EQ(calendar.last_passed(found->cutoff).value().day, found->day);
          before = found->day;
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 20'000) << span.zone;
}

class DeliveryScan : public testing::TestWithParam<Span> {};

TEST_P(DeliveryScan, DaysAndCutoffsAreThoseOfTheWalk) { expect_same(GetParam()); }  // invariant 24

INSTANTIATE_TEST_SUITE_P(Zones, DeliveryScan,
                         testing::Values(Span{"UTC", 2026, 2027}, Span{"Europe/London", 2025, 2027},
                                         Span{"Pacific/Apia", 2011, 2013}, Span{"Australia/Lord_Howe", 2025, 2027},
                                         Span{"America/Santiago", 2025, 2027}, Span{"Africa/Casablanca", 2025, 2027},
                                         Span{"Antarctica/Troll", 2025, 2027}, Span{"Pacific/Chatham", 2025, 2027},
                                         Span{"America/Nuuk", 2022, 2025}, Span{"Africa/Cairo", 2025, 2027}));

}  // namespace
}  // namespace carillon
