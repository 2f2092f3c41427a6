#include "core/jitter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::utc;

const JitterKey kKey{.tenant = "default", .schedule = "daily", .subject = "", .slot = utc("2026-03-29T01:00:00Z")};

// Worked out by hand from XXH64: a restart or an upgrade must not move a job that waits.
TEST(Jitter, IsTheSameForEver) {
  EXPECT_EQ(jitter_of(kKey, 30s), 21'525'140us);
  EXPECT_EQ(jitter_of(kKey, 1h), 2'583'016'754us);
  JitterKey other = kKey;
  other.subject = "ada";
  EXPECT_EQ(jitter_of(other, 30s), 27'345'181us);
  other = kKey;
  other.slot = utc("2026-03-30T01:00:00Z");
  EXPECT_EQ(jitter_of(other, 30s), 9'524'265us);
  other = kKey;
  other.tenant = "acme";
  EXPECT_EQ(jitter_of(other, 30s), 9'808'405us);
}

TEST(Jitter, NothingStaysNothing) {
  EXPECT_EQ(jitter_of(kKey, 0s), 0s);
  EXPECT_EQ(jitter_of(kKey, -5s), 0s);
}

TEST(Jitter, ReachesBothEndsAndEverythingBetween) {
  std::set<Duration> seen;
  for (int i = 0; i < 200; ++i) {
    const std::string subject = std::to_string(i);
    JitterKey key = kKey;
    key.subject = subject;
    seen.insert(jitter_of(key, 5us));
  }
  EXPECT_THAT(seen, testing::ElementsAre(0us, 1us, 2us, 3us, 4us, 5us));
}

RC_GTEST_PROP(Jitter, IsAFunctionOfItsKeyWithinItsBound, (const std::string& schedule, const std::string& subject)) {
  const Duration bound{*rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(0, kDurationMax.count()))};
  const JitterKey key{.tenant = "t", .schedule = schedule, .subject = subject, .slot = kKey.slot};
  const Duration jitter = jitter_of(key, bound);
  RC_ASSERT(jitter >= 0s);
  RC_ASSERT(jitter <= bound);
  RC_ASSERT(jitter == jitter_of(key, bound));
}

}  // namespace
}  // namespace carillon
