#include "server/auth/failed_sign_ins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace carillon::server {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const Instant kNoon = std::chrono::sys_days{std::chrono::year{2026} / 3 / 29} + 12h;

TEST(FailedSignIns, TheFirstIsWrittenAtOnceAndFurtherOnesAreCounted) {
  FailedSignIns failed;
  EXPECT_THAT(failed.note("key", "10.0.0.1", kNoon),
              ElementsAre(FailedSignIns::Row{"key", "10.0.0.1", 1, kNoon, kNoon}));
  for (int i = 1; i <= 9; ++i) EXPECT_THAT(failed.note("key", "10.0.0.1", kNoon + i * 1s), IsEmpty());
  EXPECT_THAT(failed.take_over(kNoon + 59s), IsEmpty());

  EXPECT_THAT(failed.take_over(kNoon + 60s),
              ElementsAre(FailedSignIns::Row{"key", "10.0.0.1", 9, kNoon + 1s, kNoon + 9s}));
  EXPECT_THAT(failed.take_over(kNoon + 120s), IsEmpty());
}

TEST(FailedSignIns, APeerThatGoesOnHasARowAMinute) {
  FailedSignIns failed;
  std::size_t rows = 0;
  std::uint64_t counted = 0;
  for (int i = 0; i < 6000; ++i) {  // ten a second, for ten minutes
    for (const FailedSignIns::Row& row : failed.note("link", "10.0.0.1", kNoon + i * 100ms)) {
      ++rows;
      counted += row.count;
    }
  }
  for (const FailedSignIns::Row& row : failed.take_over(kNoon + 1h)) counted += row.count;

  EXPECT_LE(rows, 20);
  EXPECT_EQ(counted, 6000);
}

TEST(FailedSignIns, HoweverManyPeersThereAreTheRowsOfAMinuteAreFew) {
  FailedSignIns failed;
  std::size_t rows = 0;
  std::uint64_t counted = 0;
  for (int i = 0; i < 100'000; ++i) {
    for (const FailedSignIns::Row& row : failed.note("key", "10.0." + std::to_string(i), kNoon)) {
      ++rows;
      counted += row.count;
    }
  }
  EXPECT_LE(rows, FailedSignIns::kToldApartMax);
  const auto over = failed.take_over(kNoon + 60s);
  EXPECT_THAT(over, SizeIs(1));
  EXPECT_EQ(over.front().peer, "others");
  EXPECT_EQ(counted + over.front().count, 100'000);
}

TEST(FailedSignIns, AClockThatGoesBackLosesNothing) {
  FailedSignIns failed;
  failed.note("key", "10.0.0.1", kNoon);
  failed.note("key", "10.0.0.1", kNoon + 1s);

  EXPECT_THAT(failed.take_over(kNoon - 1h), SizeIs(1));
}

}  // namespace
}  // namespace carillon::server
