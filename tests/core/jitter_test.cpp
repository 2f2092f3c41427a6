#include "core/policies/jitter.h"

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

// Worked out by hand from XXH64, rounded up: a restart or an upgrade must not move a job that waits.
TEST(Jitter, IsTheSameForEver) {
  EXPECT_EQ(jitter_of(kKey, 30s), 21'526ms);
  EXPECT_EQ(jitter_of(kKey, 1h), 2'583'017ms);
  JitterKey other = kKey;
  other.subject = "ada";
  EXPECT_EQ(jitter_of(other, 30s), 27'346ms);
  other = kKey;
  other.slot = utc("2026-03-30T01:00:00Z");
  EXPECT_EQ(jitter_of(other, 30s), 9'525ms);
  other = kKey;
  other.tenant = "acme";
  EXPECT_EQ(jitter_of(other, 30s), 9'809ms);
}

TEST(Jitter, NothingStaysNothing) {
  EXPECT_EQ(jitter_of(kKey, 0s), 0s);
  EXPECT_EQ(jitter_of(kKey, -5s), 0s);
}

TEST(Jitter, ReachesEveryWholeMillisecond) {
  std::set<Duration> seen;
  for (int i = 0; i < 200; ++i) {
    const std::string subject = std::to_string(i);
    JitterKey key = kKey;
    key.subject = subject;
    seen.insert(jitter_of(key, 3ms));
  }
  EXPECT_THAT(seen, testing::ElementsAre(1ms, 2ms, 3ms));  // and nothing, once in three thousand
}

RC_GTEST_PROP(Jitter, IsAFunctionOfItsKeyWithinItsBound, (const std::string& schedule, const std::string& subject)) {
  const Duration bound{*rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(0, kDurationMax.count()))};
  const JitterKey key{.tenant = "t", .schedule = schedule, .subject = subject, .slot = kKey.slot};
  const Duration jitter = jitter_of(key, bound);
  RC_ASSERT(jitter >= 0s);
  RC_ASSERT(jitter <= bound);
  RC_ASSERT(jitter == jitter_of(key, bound));
  RC_ASSERT((jitter == bound || jitter == up_to_millisecond(jitter)));
}

}  // namespace
}  // namespace carillon
