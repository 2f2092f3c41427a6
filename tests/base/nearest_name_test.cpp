#include "base/nearest_name.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace carillon {
namespace {

const std::vector<std::string> kCommands{"serve", "enqueue", "jobs", "schedules", "status"};

TEST(NearestName, AFewLettersAreASlip) {
  EXPECT_EQ(nearest_name("servr", kCommands), "serve");
  EXPECT_EQ(nearest_name("enqeue", kCommands), "enqueue");
  EXPECT_EQ(nearest_name("schedule", kCommands), "schedules");
  EXPECT_EQ(nearest_name("JOBS", kCommands), "jobs");
}

TEST(NearestName, MoreAreAnotherWord) {
  for (const std::string_view far : {"", "x", "zz", "preview", "fortnightly"})
    EXPECT_EQ(nearest_name(far, kCommands), "");
  EXPECT_EQ(nearest_name(std::string(101, 'j'), kCommands), "");
}

TEST(NearestName, OfTwoTheNearerOne) {
  constexpr std::array<std::string_view, 2> kNames{"retry_delay", "retry"};
  EXPECT_EQ(nearest_name("rety", kNames), "retry");
  EXPECT_EQ(nearest_name("retrydelay", kNames), "retry_delay");
}

TEST(NearestName, IsAskedAfterInWords) {
  EXPECT_EQ(did_you_mean("servr", kCommands), " (did you mean serve?)");
  EXPECT_EQ(did_you_mean("zz", kCommands), "");
}

}  // namespace
}  // namespace carillon
