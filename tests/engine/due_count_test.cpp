// What is shown as due and waiting is what the rows say, whatever became of it since it was put in line.
#include "engine/commands/commands.h"
#include "engine/commands/jobs.h"
#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

using ::testing::SizeIs;

class DueCount : public ::testing::Test {
 protected:
  DueCount() {
    node.handlers["work"] = [](JobContext&) { return done(); };
    node.run_due();
    pause(true);
  }
  // Nothing starts, and so nobody finds out by a claim what is not there any more.
  void pause(bool paused) {
    value_of(node.client().put_queue("default", "default", paused ? R"({"paused":true})" : R"({"paused":false})"));
  }
  std::vector<JobId> enqueue(std::size_t count, JobRequest request = {.type = "work"}) {
    std::vector<JobId> ids;
    for (std::size_t i = 0; i < count; ++i) ids.push_back(node.enqueue(request));
    return ids;
  }
  NodeLevels levels() {
    return value_of(
        node.node().call<NodeLevels>([&](Round& round) -> Result<NodeLevels> { return node.node().levels(round); }));
  }
  std::size_t of_tenant(const std::string& tenant) {
    return value_of(node.node().call<NodeLevels>(
                        [&](Round& round) -> Result<NodeLevels> { return node.node().levels_of({tenant}, round.now); }))
        .ready;
  }
  // As the rows say it.
  std::size_t queued() {
    std::size_t due = 0;
    for (const JobInfo& job : value_of(node.client().jobs({.states = {JobState::queued}}, {}, 1000)).jobs) {
      due += job.run_at <= node.clock.now() ? 1U : 0U;
    }
    return due;
  }
  void expect_due(std::size_t count) {
    EXPECT_EQ(levels().ready, count);
    EXPECT_EQ(of_tenant("default"), count);
    EXPECT_EQ(queued(), count);
    node.pass(2s);
    ASSERT_FALSE(node.heard.of<QueueDepth>().empty());
    EXPECT_EQ(node.heard.of<QueueDepth>().back().depth, count);
  }

 public:
  HandNode node;
};

TEST_F(DueCount, CancelledJobsAreNotThere) {
  const std::vector<JobId> ids = enqueue(112);
  expect_due(112);
  node.client().cancel("default", ids.front()).value();
  expect_due(111);
  value_of(
      node.client().bulk({.action = BulkAction::cancel, .query = {.tenant = "default", .since = made_at(ids[12])}}));
  node.pass(5s);
  const std::size_t left = queued();
  EXPECT_LT(left, 112U);
  expect_due(left);
  pause(false);
  EXPECT_EQ(node.run_due(), left);
  expect_due(0);
}

TEST_F(DueCount, TheOneThatWaitsLongestIsOneThatIsThere) {
  const JobId first = enqueue(1).front();
  node.pass(10min);
  const Instant second_at = node.clock.now();
  enqueue(1);
  value_of(node.client().cancel("default", first));
  EXPECT_EQ(levels().oldest_due, second_at);
}

TEST_F(DueCount, AJobThatMovedStandsOnce) {
  const JobId id = enqueue(1).front();
  value_of(node.client().change("default", id, {.priority = 1}));
  expect_due(1);
  value_of(node.client().change("default", id, {.priority = 3}));
  value_of(node.client().change("default", id, {.priority = 1}));
  expect_due(1);
  value_of(node.client().run_now("default", id));
  expect_due(1);
  value_of(node.client().change("default", id, {.run_at = node.clock.now() + 5min}));
  expect_due(0);
  value_of(node.client().run_now("default", id));
  expect_due(1);
  node.pass(6min);
  expect_due(1);
  pause(false);
  EXPECT_EQ(node.run_due(), 1U);
  expect_due(0);
  EXPECT_EQ(node.job(id).state, JobState::done);
}

TEST_F(DueCount, AJobThatEndedAtItsDeadlineIsNotThere) {
  enqueue(3, {.type = "work", .deadline = node.clock.now() + 1min});
  expect_due(3);
  node.pass(2min);
  expect_due(0);
}

TEST_F(DueCount, AJobWhoseCommitWasRefusedIsNotThere) {
  enqueue(2);
  for (const CommitFault fault : {CommitFault::full, CommitFault::unavailable}) {
    node.commits().next(fault);
    EXPECT_FALSE(node.client().enqueue({.type = "work"}).has_value());
    EXPECT_EQ(node.node().due_count(node.clock.now()), 2U);
    node.pass(1s);
    expect_due(2);
  }
  pause(false);
  EXPECT_EQ(node.run_due(), 2U);
}

TEST_F(DueCount, AJobWhoseAnswerWasLostIsThereOnce) {
  enqueue(2);
  node.commits().next(CommitFault::answer_lost);
  EXPECT_FALSE(node.client().enqueue({.type = "work"}).has_value());
  node.pass(1s);
  expect_due(3);
  pause(false);
  EXPECT_EQ(node.run_due(), 3U);
  expect_due(0);
}

TEST_F(DueCount, ACancelWhoseAnswerWasLostTookItsJobAway) {
  const std::vector<JobId> ids = enqueue(3);
  node.commits().next(CommitFault::answer_lost);
  EXPECT_FALSE(node.client().cancel("default", ids[1]).has_value());
  node.pass(1s);
  expect_due(2);
  node.commits().next(CommitFault::unavailable);
  EXPECT_FALSE(node.client().cancel("default", ids[0]).has_value());
  node.pass(1s);
  expect_due(2);
  pause(false);
  EXPECT_EQ(node.run_due(), 2U);
}

TEST_F(DueCount, ClaimsThatFailedLeaveEachJobThereOnce) {
  pause(false);
  for (const CommitFault fault : {CommitFault::unavailable, CommitFault::answer_lost, CommitFault::full}) {
    enqueue(20);
    node.commits().next(fault);
    node.node().step();
    node.pass(1s);
    pause(true);
    node.settle_down();
    const std::size_t waiting = queued();
    expect_due(waiting);
    pause(false);
    node.run_due();
    expect_due(0);
  }
}

TEST_F(DueCount, JobsOfAPausedScheduleWaitToo) {
  pause(false);
  value_of(node.client().put_schedule(
      "default", R"({"name":"s","trigger":{"kind":"every","every":"1h"},"job":{"type":"late","queue":"slow"}})"));
  value_of(node.client().put_queue("default", "slow", R"({"paused":true})"));
  node.pass(61min);
  expect_due(1);
  value_of(node.client().pause("default", "s", std::nullopt));
  value_of(node.client().put_queue("default", "slow", R"({"paused":false})"));
  node.pass(5s);
  expect_due(1);
  const JobId id = value_of(node.client().jobs({.states = {JobState::queued}}, {}, 10)).jobs.front().id;
  value_of(node.client().cancel("default", id));
  expect_due(0);
}

TEST_F(DueCount, JobsThatAGateLetGoWaitToo) {
  pause(false);
  value_of(node.client().put_maintenance("default", R"({"until":null})"));
  node.pass(1s);
  enqueue(50);
  expect_due(50);
  value_of(node.client().put_maintenance("default", std::nullopt));
  node.settle_down();
  EXPECT_EQ(levels().ready, queued());
  pause(true);
  node.settle_down();
  EXPECT_EQ(levels().ready, queued());
}

TEST_F(DueCount, AClockThatIsSetBackTakesThemOutOfLine) {
  enqueue(4);
  expect_due(4);
  node.clock.step(-1h);
  node.settle_down();
  EXPECT_EQ(levels().ready, 0U);
  node.pass(61min);
  expect_due(4);
}

TEST_F(DueCount, ARepeatedWordAddsNothing) {
  const JobId chosen = node.store().jobs().new_job_id();
  const auto put = [&] {
    return value_of(Commands(node.node()).ask(command::EnqueueJob{.job = {.id = chosen, .type = "work"}}));
  };
  put();
  put();
  expect_due(1);
}

}  // namespace
}  // namespace carillon::test
