#include "core/recurrence/time_set.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "core/random_triggers.h"

namespace carillon {
namespace {

// The members, second by second.
std::vector<std::int32_t> members(const TimeSet& set) {
  std::vector<std::int32_t> found;
  for (std::int32_t second = 0; second < kSecondsPerDay; ++second) {
    const auto& masks = set.masks();
    if ((masks.hours >> (second / 3600) & 1) != 0 && (masks.minutes >> (second / 60 % 60) & 1) != 0 &&
        (masks.seconds >> (second % 60) & 1) != 0) {
      found.push_back(second);
    }
  }
  return found;
}

std::uint64_t any_mask(int bits) {
  std::uint64_t mask = 0;
  const int members = test::draw(1, 4);
  for (int i = 0; i < members; ++i) mask |= std::uint64_t{1} << test::draw(0, bits - 1);
  return mask;
}

TimeSet any_set() { return TimeSet({.hours = any_mask(24), .minutes = any_mask(60), .seconds = any_mask(60)}); }

constexpr std::uint64_t bit(int n) { return std::uint64_t{1} << n; }

TEST(TimeSet, WalksHoursThenMinutesThenSeconds) {
  const TimeSet set({.hours = bit(9) | bit(17), .minutes = bit(0) | bit(30), .seconds = bit(15)});
  EXPECT_EQ(set.size(), 4);
  EXPECT_EQ(set.at(0).seconds, 9 * 3600 + 15);
  EXPECT_EQ(set.at(1).seconds, 9 * 3600 + 30 * 60 + 15);
  EXPECT_EQ(set.at(3).seconds, 17 * 3600 + 30 * 60 + 15);
  EXPECT_EQ(set.first_from({9 * 3600 + 16})->seconds, 9 * 3600 + 30 * 60 + 15);
  EXPECT_EQ(set.first_from({10 * 3600})->seconds, 17 * 3600 + 15);
  EXPECT_FALSE(set.first_from({17 * 3600 + 30 * 60 + 16}).has_value());
}

TEST(TimeSet, TheWholeDayHasEverySecond) {
  const TimeSet set({.hours = TimeSet::kAllHours, .minutes = TimeSet::kAllSixty, .seconds = TimeSet::kAllSixty});
  EXPECT_TRUE(set.is_whole_day());
  EXPECT_EQ(set.size(), kSecondsPerDay);
  EXPECT_EQ(set.at(86399).seconds, 86399);
  EXPECT_EQ(set.first_from({86399})->seconds, 86399);
  EXPECT_EQ(set.count_before({86400}), 86400);
}

TEST(TimeSet, TheLastSecondOfTheDayCanBeItsOnlyMember) {
  const TimeSet set({.hours = bit(23), .minutes = bit(59), .seconds = bit(59)});
  EXPECT_EQ(set.first_from({0})->seconds, 86399);
  EXPECT_EQ(set.count_before({86399}), 0);
  EXPECT_EQ(set.count_before({86400}), 1);
}

RC_GTEST_PROP(TimeSet, AgreesWithLookingAtEverySecond, ()) {
  const TimeSet set = any_set();
  const std::vector<std::int32_t> expected = members(set);
  RC_ASSERT(set.size() == static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    RC_ASSERT(set.at(static_cast<std::int64_t>(i)).seconds == expected[i]);
  }
  for (int i = 0; i < 100; ++i) {
    const TimeOfDay from{test::draw(0, 86399)};
    const auto found = std::ranges::lower_bound(expected, from.seconds);
    const auto first = set.first_from(from);
    RC_ASSERT(first.has_value() == (found != expected.end()));
    if (first) RC_ASSERT(first->seconds == *found);
    RC_ASSERT(set.count_before(from) == found - expected.begin());
  }
}

}  // namespace
}  // namespace carillon
