// S0's six frozen invariants, each by its name.
#include <carillon/engine.h>
#include <fmt/format.h>

#include <set>
#include <span>

#include "engine/support/crashing_node.h"
#include "engine/support/pull_test.h"
#include "engine/support/subject_test.h"
#include "support/signal.h"

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
  static Duration due_of(int user) { return std::chrono::hours(user % 24) + std::chrono::minutes(user * 7 % 60); }
  void add_users() {
    std::string lines;
    for (int i = 0; i < kUsers; ++i) {
      const std::string due = format_instant(at("2026-03-03T00:00:00Z") + due_of(i)).substr(11, 5);
      lines += fmt::format(R"({{"subject":"user-{}","due":"{}"}})", i, due) + "\n";
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

TEST_P(DailyInvariants, I6ExactlyOneFinalizationPerUserPerDayByTheCutoff) {
  add_users();
  const auto fails = [](const std::string& user) { return user.ends_with("3"); };
  answer = [&](JobContext& context) { return fails(context.job().subject) ? fail("never") : done(); };
  const Instant made = clock.now();
  const Instant until = at("2026-03-06T00:00:00Z");
  run_until("2026-03-06T00:00:00Z");
  EXPECT_THAT(counts(days_with()), Each(1));
  // A day has an outcome if its cutoff lay after the user was made and has passed; a success is there from the start
  // of its window on.
  std::set<std::string> expected;
  for (int i = 0; i < kUsers; ++i) {
    const std::string user = "user-" + std::to_string(i);
    for (Instant cutoff = made + due_of(i); cutoff - (fails(user) ? 0h : 1h) <= until; cutoff += 24h) {
      if (cutoff > made) expected.insert(user + " " + format_instant(cutoff).substr(0, 10));
    }
  }
  std::set<std::string> seen;
  for (const auto& [day, count] : days_with()) seen.insert(day);
  EXPECT_EQ(seen, expected);
  for (const Event& event : heard.all()) {
    const auto* one = std::get_if<Finalized>(&event.body);
    if (!one) continue;
    const Instant cutoff = at(one->today + "T00:00:00Z") + std::chrono::minutes(one->due_bucket.value());
    if (fails(one->subject)) {
      EXPECT_EQ(one->status, JobState::cutoff_reached);
      EXPECT_THAT(event.at, AllOf(Ge(cutoff), Le(cutoff + 1s))) << one->subject << ": by the first tick after it";
    } else {
      EXPECT_EQ(one->status, JobState::done);
      EXPECT_THAT(event.at, AllOf(Ge(cutoff - 1h), Lt(cutoff))) << one->subject;  // invariant 23
    }
  }
  EXPECT_THAT(days_with(JobState::cutoff_reached), SizeIs(Ge(8U)));
  // Invariant 22: of each start the next cutoff is no further off than its window is long.
  ASSERT_FALSE(starts.empty());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    Instant cutoff = std::chrono::floor<std::chrono::days>(starts[i]) + due_of(std::stoi(ran[i].substr(5)));
    if (cutoff <= starts[i]) cutoff += 24h;
    EXPECT_THAT(starts[i], AllOf(Ge(cutoff - 1h), Lt(cutoff))) << ran[i];
  }
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
  constexpr std::uint64_t kOthers = 30;
  HandNode node({.max_concurrency = 1, .start = at("2026-03-03T06:30:00Z")});
  value_of(node.client().put_schedule(
      "default", R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"digest","timeout":"3h"}})"));
  std::string lines = R"({"subject":"slow"})"
                      "\n";
  for (std::uint64_t i = 0; i < kOthers; ++i) lines += fmt::format(R"({{"subject":"u{}","due":"08:30"}})", i) + "\n";
  for (int i = 0; i < 2'000; ++i) lines += fmt::format(R"({{"subject":"far-{}","due":"20:00"}})", i) + "\n";
  value_of(node.client().import_subjects("default", "s", lines));
  node.pass(31min);
  const RunPtr slow = node.take();
  ASSERT_TRUE(slow && node.begin(slow));
  const std::size_t told_before = node.heard.all().size();
  node.pass(2h);  // its handler does not return, and has the only slot
  EXPECT_TRUE(node.runner.waiting.empty());
  std::uint64_t scanned = 0;
  std::uint64_t enqueued = 0;
  std::vector<Instant> planned;
  std::vector<Instant> closed;
  const std::vector<Event> told = node.heard.all();
  for (const Event& event : std::span(told).subspan(told_before)) {
    if (const auto* tick = std::get_if<TickStopped>(&event.body)) {
      scanned += tick->users_scanned;
      enqueued += tick->enqueued;
    }
    const auto* job = std::get_if<JobChanged>(&event.body);
    if (job && job->state == JobState::queued) planned.push_back(event.at);
    if (std::holds_alternative<Finalized>(event.body)) closed.push_back(event.at);
  }
  EXPECT_EQ(enqueued, kOthers);
  EXPECT_EQ(scanned, kOthers) << "of 2,031 subjects, those that are due";
  EXPECT_THAT(planned,
              AllOf(SizeIs(kOthers), Each(AllOf(Ge(at("2026-03-03T07:30:00Z")), Le(at("2026-03-03T07:30:01Z"))))));
  ASSERT_THAT(closed, SizeIs(1 + kOthers)) << "and all of them got their outcome";
  EXPECT_THAT(closed.front(), AllOf(Ge(at("2026-03-03T08:00:00Z")), Le(at("2026-03-03T08:00:01Z"))));
  closed.erase(closed.begin());
  EXPECT_THAT(closed, Each(AllOf(Ge(at("2026-03-03T08:30:00Z")), Le(at("2026-03-03T08:30:01Z")))));
}

TEST(DailyNode, I4AHandlerThatBlocksItsThreadHoldsUpNoPlanning) {  // invariant 7
  // One of them is due within the hour, whatever time it is.
  std::string lines;
  for (int i = 0; i < 24; ++i) lines += fmt::format(R"({{"subject":"u{}","due":"{:02}:00"}})", i, i) + "\n";
  constexpr std::string_view kHours =
      R"({"name":"s","trigger":{"kind":"delivery","due":"00:00","window":"2h"},"job":{"type":"digest"}})";
  Signal begun;
  Signal may_end;
  Signal planned;
  const StorePtr store = value_of(open_store("memory:"));
  Engine engine(*store, {.max_concurrency = 1});
  engine.handle("digest", [&](JobContext&) {
    begun.raise();
    may_end.wait();
    return done();
  });
  engine.on_event([&](const Event& event) {
    const auto* job = std::get_if<JobChanged>(&event.body);
    if (job && job->tenant == "others" && job->state == JobState::queued) planned.raise();
  });
  engine.run_in_background();
  value_of(engine.client().put_schedule("default", kHours));
  value_of(engine.client().import_subjects("default", "s", lines));
  ASSERT_TRUE(begun.wait());
  value_of(engine.client().put_schedule("others", kHours));
  value_of(engine.client().import_subjects("others", "s", lines));
  EXPECT_TRUE(planned.wait());
  EXPECT_EQ(begun.count(), 1) << "the only thread is still in its handler";
  may_end.raise();
  engine.stop();
}

// A process that dies while an attempt runs: leased, and never settled.

TEST(DailyCrash, I5AClaimIsNeverAnOutcome) {  // prefer delivery over dedupe; invariants 5, 8
  CrashingNode node(at("2026-03-03T00:00:00Z"));
  value_of(node->client().put_schedule(
      "default", R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"digest","timeout":"1h"}})"));
  value_of(node->client().put_subject("default", "s", "ada", "{}"));
  const auto ada = [&] { return value_of(node->client().subject("default", "s", "ada")); };
  const auto expect_no_outcome = [&](std::string_view when) {
    EXPECT_TRUE(ada().status.empty()) << when;
    EXPECT_TRUE(ada().last_slot.empty()) << when << ": nothing of the day is written before it is final";
    EXPECT_THAT(node->heard.of<Finalized>(), IsEmpty()) << when;
  };
  node->pass(7h);
  node.begin_one();
  const JobId id = ada().open_job;
  node->pass(5min);
  EXPECT_EQ(node->job(id).state, JobState::processing);
  expect_no_outcome("07:05, claimed");

  node.crash_until(at("2026-03-03T07:25:00Z"));
  expect_no_outcome("07:25, before the first tick");
  node.begin_one();
  EXPECT_EQ(node->clock.now(), at("2026-03-03T07:25:00Z")) << "no time passed";
  EXPECT_THAT(node->heard.of<LeaseLost>(), SizeIs(1));
  expect_no_outcome("07:25, claimed again");

  node.crash_until(at("2026-03-03T07:45:00Z"));
  const RunPtr last = node.begin_one();
  expect_no_outcome("07:45, claimed a third time");
  node->finish(last, done());
  EXPECT_EQ(node->job(id).state, JobState::done) << "tried again, rather than skipped";
  EXPECT_EQ(ada().status, "success");
  EXPECT_EQ(ada().last_slot, "2026-03-03");
  EXPECT_EQ(ada().last_run_at, at("2026-03-03T07:45:00Z"));
  EXPECT_THAT(node->heard.of<Finalized>(), SizeIs(1));
  node->pass(30min);
  EXPECT_THAT(node->heard.of<Finalized>(), SizeIs(1)) << "the cutoff is not another one";
}

TEST(DailyCrash, I5NorIsAClaimThatIsStillHeldAtTheCutoff) {  // invariants 3, 8
  CrashingNode node(at("2026-03-03T06:59:00Z"));
  value_of(node->client().put_schedule(
      "default", R"({"name":"s","trigger":{"kind":"delivery","due":"08:00"},"job":{"type":"digest","timeout":"1h"}})"));
  value_of(node->client().put_subject("default", "s", "ada", "{}"));
  node->pass(1min);
  node.begin_one();
  node->pass(5min);
  node.crash_until(at("2026-03-03T08:00:00Z"));
  EXPECT_EQ(node->take(), nullptr) << "no attempt starts at the cutoff";
  const auto closed = node->heard.of<Finalized>();
  ASSERT_THAT(closed, SizeIs(1));
  EXPECT_EQ(closed.front().status, JobState::cutoff_reached);
  EXPECT_EQ(value_of(node->client().subject("default", "s", "ada")).status, "cutoff_reached");
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

TEST_P(DailyCutoff, ADayOfAScheduleThatIsDeletedMeanwhileIsToldWithItsDateAndMinute) {  // S0's E5
  value_of(node->client().put_schedule(
      "default", R"({"name":"s","trigger":{"kind":"delivery","due":"12:30"},"job":{"type":"digest"}})"));
  for (const char* name : {"ada", "bob"}) value_of(node->client().put_subject("default", "s", name, "{}"));
  node->pass(20min);
  const PulledJob job_of_day = node.lease_one({.lease = 1h});
  ASSERT_TRUE(node->client().delete_schedule("default", "s").has_value());
  auto closed = node->heard.of<Finalized>();
  ASSERT_THAT(closed, SizeIs(1)) << "the one that nobody has begun";
  EXPECT_EQ(closed.back().status, JobState::cancelled);
  EXPECT_EQ(closed.back().due_bucket, 12 * 60 + 30);
  value_of(node.settle(job_of_day, done()));
  closed = node->heard.of<Finalized>();
  ASSERT_THAT(closed, SizeIs(2));
  EXPECT_EQ(closed.back().status, JobState::done);
  EXPECT_EQ(closed.back().due_bucket, 12 * 60 + 30);
  EXPECT_EQ(closed.back().today, "2026-03-02");
}

TEST_P(DailyCutoff, AnOccurrenceOfAnotherKindOfDeletedScheduleHasNoMinuteByWhichItIsDue) {
  value_of(node->client().put_schedule(
      "default", R"({"name":"e","trigger":{"kind":"every","every":"10m"},"job":{"type":"check"}})"));
  node->pass(11min);
  const PulledJob check = node.lease_one();
  ASSERT_TRUE(node->client().delete_schedule("default", "e").has_value());
  value_of(node.settle(check, done()));
  const auto closed = node->heard.of<Finalized>();
  ASSERT_THAT(closed, SizeIs(1));
  EXPECT_FALSE(closed.back().due_bucket);
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
