#include <carillon/testing.h>
#include <gtest/gtest.h>

namespace carillon::testing {
namespace {

using namespace std::chrono_literals;

class HandDriven : public ::testing::TestWithParam<std::string> {
 protected:
  ManualClock clock{parse_instant("2026-03-28T23:00:00Z").value()};
  TestEngine engine{clock};
  int calls = 0;
};

TEST_F(HandDriven, AJobRunsAtItsTime) {
  engine.handle("mail.send", [&](JobContext&) {
    ++calls;
    return done();
  });
  const auto job = engine.client().enqueue({.type = "mail.send", .run_at = in(5min)});
  ASSERT_TRUE(job);
  EXPECT_EQ(engine.advance(4min), 0U);
  EXPECT_EQ(engine.advance(1min), 1U);
  engine.run_due();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(engine.client().job("default", job->id)->state, JobState::done);
  EXPECT_EQ(engine.counters().succeeded, 1U);
}

TEST_F(HandDriven, AScheduleFiresEveryDay) {
  engine.handle("digest", [&](JobContext&) {
    ++calls;
    return done();
  });
  const auto put = engine.client().schedule_recurring({.name = "digest", .type = "digest", .daily = "08:00"});
  ASSERT_TRUE(put) << put.error().message;
  engine.advance(72h);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace carillon::testing
