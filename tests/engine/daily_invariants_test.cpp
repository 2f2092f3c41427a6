// S0's six frozen invariants, each by its name.
#include <fmt/format.h>

#include "engine/support/pull_test.h"
#include "engine/support/subject_test.h"

namespace carillon::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Lt;
using ::testing::SizeIs;

constexpr int kUsers = 40;

class DailyInvariants : public SubjectTest {
 protected:
  void SetUp() override {
    handle_noted("digest");
    go_to("2026-03-03T00:00:00Z");
    put(R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"digest"}})");
  }
  // Due in every hour of the day, so that windows touch both ends of it.
  void add_users() {
    std::string lines;
    for (int i = 0; i < kUsers; ++i) {
      lines += fmt::format(R"({{"subject":"user-{}","due":"{:02}:{:02}"}})", i, i % 24, i * 7 % 60) + "\n";
    }
    value_of(client().import_subjects(kTenant, "s", lines));
  }
  // How many outcomes of this kind each (subject, day) has.
  std::map<std::string, int> days_with(std::optional<JobState> status = {}) const {
    std::map<std::string, int> days;
    for (const Finalized& one : heard.of<Finalized>()) {
      if (!status || one.status == *status) ++days[one.subject + " " + one.today];
    }
    return days;
  }
  static std::vector<int> counts(const std::map<std::string, int>& days) {
    std::vector<int> all;
    for (const auto& [day, count] : days) all.push_back(count);
    return all;
  }
};

OVER_EVERY_STORE(DailyInvariants);

TEST_P(DailyInvariants, I1AtMostOneSuccessfulRunPerUserPerDay) {
  add_users();
  int rounds = 0;
  answer = [&](JobContext&) { return ++rounds % 3 == 0 ? fail("no luck") : done(); };
  for (int day = 0; day < 3; ++day) {
    // Whatever an operator does meanwhile: edits, pauses, runs by hand.
    advance(5h);
    for (int i = 0; i < kUsers; i += 5) {
      value_of(client().patch_subject(kTenant, "s", "user-" + std::to_string(i),
                                      fmt::format(R"({{"due":"{:02}:30"}})", (i + 7 * day) % 24)));
      value_of(client().trigger(kTenant, "s", {.subject = "user-" + std::to_string(i)}));
    }
    run_due();
    value_of(client().pause(kTenant, "s"));
    advance(2h);
    value_of(client().resume(kTenant, "s"));
    advance(17h);
  }
  const auto successes = days_with(JobState::done);
  EXPECT_GT(successes.size(), static_cast<std::size_t>(kUsers));
  EXPECT_THAT(counts(successes), Each(1));
  EXPECT_THAT(counts(days_with()), Each(1)) << "nor any other outcome beside it";
}

TEST_P(DailyInvariants, I2SurvivesCrashesWithoutSilentSkips) {
  if (!survives_restart()) GTEST_SKIP() << "memory does not survive";
  add_users();
  answer = [&](JobContext& context) { return context.attempt() == 1 ? fail("first try") : done(); };
  for (int i = 0; i < 48 + 3; ++i) {
    advance(30min);
    clock.advance(4min);  // and is down for a while
    restart();
    run_due();
  }
  const auto days = days_with();
  for (int i = 0; i < kUsers; ++i) {
    const std::string user = "user-" + std::to_string(i);
    const SubjectInfo info = subject(user);
    EXPECT_FALSE(info.status.empty()) << user;
    // All days from the first to the last have their outcome: none was passed over.
    std::vector<std::string> seen;
    for (const auto& [day, count] : days) {
      if (day.starts_with(user + " ")) seen.push_back(day.substr(user.size() + 1));
    }
    ASSERT_FALSE(seen.empty()) << user;
    EXPECT_EQ(seen.back(), info.last_slot) << user;
    const auto between = at(seen.back() + "T00:00:00Z") - at(seen.front() + "T00:00:00Z");
    EXPECT_EQ(between, Duration((seen.size() - 1) * 24h)) << user;
  }
}

TEST_P(DailyInvariants, I4TheTickIsLightAndWaitsForNobody) {  // invariant 7
  std::string lines;
  for (int i = 0; i < 10'000; ++i) lines += fmt::format(R"({{"subject":"late-{:05}","due":"20:00"}})", i) + "\n";
  for (int i = 0; i < 3; ++i) lines += fmt::format(R"({{"subject":"early-{}"}})", i) + "\n";
  value_of(client().import_subjects(kTenant, "s", lines));
  run_until("2026-03-03T07:30:00Z");
  std::uint64_t scanned = 0;
  std::uint64_t enqueued = 0;
  for (const TickStopped& tick : heard.of<TickStopped>()) {
    scanned += tick.users_scanned;
    enqueued += tick.enqueued;
  }
  EXPECT_EQ(enqueued, 3U);
  EXPECT_LE(scanned, 6U) << "of 10,003 subjects, those that are due";
  EXPECT_THAT(starts, SizeIs(3));
}

TEST_P(DailyInvariants, I5AClaimIsNeverAnOutcome) {  // prefer delivery over dedupe; invariant 8
  if (!survives_restart()) GTEST_SKIP() << "memory does not survive";
  put_subject("ada");
  run_until("2026-03-03T06:59:59Z");
  answer = [](JobContext&) -> Outcome { throw std::runtime_error("as a crash in the middle of it"); };
  run_until("2026-03-03T07:00:00Z");
  const SubjectInfo claimed = subject("ada");
  EXPECT_TRUE(claimed.status.empty());
  EXPECT_TRUE(claimed.last_slot.empty()) << "nothing of the day is written before it is final";
  restart();
  answer = [](JobContext&) { return done(); };
  run_until("2026-03-03T07:59:00Z");
  EXPECT_THAT(starts, SizeIs(2)) << "tried again, rather than skipped";
  EXPECT_EQ(subject("ada").status, "success");
  EXPECT_EQ(subject("ada").last_run_at, starts.back());
}

TEST_P(DailyInvariants, I6ExactlyOneFinalizationPerUserPerDayByTheCutoff) {
  add_users();
  answer = [&](JobContext& context) { return context.job().subject.ends_with("3") ? fail("never") : done(); };
  run_until("2026-03-06T00:00:00Z");
  const auto finalized = heard.of<Finalized>();
  EXPECT_THAT(counts(days_with()), Each(1));
  for (const Event& event : heard.all()) {
    const auto* one = std::get_if<Finalized>(&event.body);
    if (!one) continue;
    const Instant cutoff = at(one->today + "T00:00:00Z") + std::chrono::minutes(one->due_bucket.value());
    const bool failing = one->subject.ends_with("3");
    EXPECT_EQ(one->status, failing ? JobState::cutoff_reached : JobState::done);
    // By its cutoff; that which is only known at the cutoff, at the first tick after it.
    EXPECT_THAT(event.at, AllOf(Ge(cutoff - 1h), Le(failing ? cutoff + 1s : cutoff))) << one->subject;
  }
  EXPECT_THAT(days_with(JobState::cutoff_reached), SizeIs(Ge(8U)));
  for (const Instant start : starts) EXPECT_GE(start, at("2026-03-03T00:00:00Z"));
}

TEST_P(DailyInvariants, I6AlsoIfNobodyWasThereAtTheCutoff) {
  if (!survives_restart()) GTEST_SKIP() << "memory does not survive";
  answer = [](JobContext&) { return fail("no luck"); };
  put_subject("ada");
  run_until("2026-03-03T07:35:00Z");
  clock.advance(2h);
  restart();
  answer = [](JobContext&) { return done(); };
  run_due();
  EXPECT_THAT(outcomes(), ::testing::ElementsAre("ada 2026-03-03T00:00 cutoff_reached"));
  EXPECT_THAT(starts, SizeIs(4)) << "and no attempt behind it";
}

// On a node whose attempts last as long as the test says.

TEST(DailyNode, I3GlobalConcurrencyIsBounded) {  // the threads of a node: EngineThreads, invariant 6
  HandNode node({.max_concurrency = 20, .start = at("2026-03-03T06:59:00Z")});
  value_of(node.client().put_config(R"({"max_concurrent_jobs":3})"));
  value_of(node.client().put_schedule(
      "default", R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"digest"}})"));
  for (int i = 0; i < 20; ++i) value_of(node.client().put_subject("default", "s", "u" + std::to_string(i), "{}"));
  node.pass(2min);
  std::deque<RunPtr> running;
  std::size_t most = 0;
  std::size_t ended = 0;
  for (int i = 0; i < 100; ++i) {
    while (RunPtr run = node.take()) {
      ASSERT_TRUE(node.begin(run));
      running.push_back(std::move(run));
    }
    most = std::max(most, running.size());
    if (running.empty()) break;
    node.finish(running.front(), done());
    running.pop_front();
    ++ended;
  }
  EXPECT_EQ(most, 3U);
  EXPECT_EQ(ended, 20U);
}

TEST(DailyNode, I4WhileAHandlerRunsTheOthersArePlanned) {  // invariant 7
  HandNode node({.max_concurrency = 1, .start = at("2026-03-03T06:30:00Z")});
  value_of(node.client().put_schedule(
      "default", R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"digest","timeout":"3h"}})"));
  value_of(node.client().put_subject("default", "s", "slow", "{}"));
  value_of(node.client().put_subject("default", "s", "other", R"({"due":"08:30"})"));
  node.pass(31min);
  const RunPtr slow = node.take();
  ASSERT_TRUE(slow && node.begin(slow));
  node.pass(2h);  // its handler does not return, and has the only slot
  const auto closed = node.heard.of<Finalized>();
  ASSERT_THAT(closed, SizeIs(2)) << "both days were planned and closed all the same";
  EXPECT_THAT(node.heard.of<TickStopped>(), Each(::testing::Field(&TickStopped::duration, Lt(Duration(1min)))));
}

// At the cutoff a running attempt is told to stop; what it says afterwards changes nothing.
class DailyCutoff : public Pulls {};

OVER_EVERY_STORE(DailyCutoff);

TEST_P(DailyCutoff, ARunningAttemptIsToldToStopAndItsSuccessIsAnEvent) {
  value_of(node->client().put_schedule(
      "default", R"({"name":"s","trigger":{"kind":"delivery","due":"12:30"},"job":{"type":"digest","timeout":"2h"}})"));
  value_of(node->client().put_subject("default", "s", "ada", "{}"));
  node->pass(20min);
  const PulledJob job_of_day = node.lease_one({.lease = 30min});
  EXPECT_FALSE(value_of(node.beat(job_of_day)).cancel_requested);
  node->pass(11min);
  EXPECT_EQ(job(job_of_day.job.id).state, JobState::cutoff_reached);
  EXPECT_EQ(error_of(node.beat(job_of_day)).code, ErrorCode::stale_token) << "it is told at its next word";
  EXPECT_EQ(error_of(node.settle(job_of_day, done())).code, ErrorCode::stale_token);
  EXPECT_EQ(node->heard.count("late_success"), 1U);
  const auto closed = node->heard.of<Finalized>();
  ASSERT_THAT(closed, SizeIs(1));
  EXPECT_EQ(closed.front().status, JobState::cutoff_reached);
  EXPECT_EQ(value_of(node->client().subject("default", "s", "ada")).status, "cutoff_reached");
}

TEST_P(DailyCutoff, AnAttemptOfOurOwnSeesItsToken) {
  node.served.insert({"default", "digest"});
  value_of(node->client().put_schedule(
      "default", R"({"name":"s","trigger":{"kind":"delivery","due":"12:30"},"job":{"type":"digest","timeout":"2h"}})"));
  value_of(node->client().put_subject("default", "s", "ada", "{}"));
  const RunPtr run = node->take();
  ASSERT_TRUE(run && node->begin(run));
  node->pass(29min);
  EXPECT_FALSE(run->stop_requested);
  node->pass(2min);
  EXPECT_TRUE(run->stop_requested);
  node->finish(run, done());
  EXPECT_EQ(node->heard.count("late_success"), 1U);
  EXPECT_EQ(value_of(node->client().subject("default", "s", "ada")).status, "cutoff_reached");
}

}  // namespace
}  // namespace carillon::test
