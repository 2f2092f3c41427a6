// S2's seven scenarios, in its own words: stocks are polled for transcripts, a new one is analysed, and mailed once.
#include "engine/support/pull_test.h"
#include "engine/support/subject_test.h"

namespace carillon::test {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

// What the provider says of every stock: the address of the newest transcript, once there is one.
struct Provider {
  std::optional<Instant> available_at;
  std::string url = "https://provider/q1.pdf";
  bool down = false;
  bool has_it(Instant now) const { return available_at && *available_at <= now; }
};

class TranscriptScenarios : public SubjectTest {
 protected:
  void SetUp() override {
    put(R"({"name":"s","trigger":{"kind":"adaptive","bands":[{"within":"24h","every":"10m"},{"within":"7d","every":"60m"}],)"
        R"("otherwise":["4h","6h"]},"job":{"type":"transcript.check","limits":["provider"],"max_attempts":3,)"
        R"("retry":{"kind":"exponential","base":"1m"}}})");
    handle("transcript.check", [this](JobContext& context) {
      starts.push_back(clock.now());
      ran.push_back(context.job().subject);
      return check(context);
    });
    handle("analysis", [this](JobContext& context) {
      analysed.push_back(clock.now());
      return done().then({.type = "mail",
                          .payload = std::string(context.payload().raw()),
                          .idempotency_key = "mail:" + context.payload().at("url").as_string()});
    });
    handle_counted("mail");
  }

  Outcome check(JobContext& context) {
    if (provider.down) return fail("502", "req");
    if (!provider.has_it(clock.now())) return done().subject_status("upcoming");
    const std::string url = R"({"url":")" + provider.url + R"("})";
    return done()
        .subject_status("available")
        .then({.type = "analysis",
               .payload = url,
               .idempotency_key = context.job().subject + ":" + provider.url,
               .subject = context.job().subject});
  }
  std::string expecting(Duration in) { return R"({"expected_at":")" + format_instant(clock.now() + in) + R"("})"; }
  std::vector<JobInfo> parked() { return jobs({.states = {JobState::dlq}}); }

 public:
  Provider provider;
  std::vector<Instant> analysed;
};

OVER_EVERY_STORE(TranscriptScenarios);

TEST_P(TranscriptScenarios, ANewTranscriptAppearsAndItsAnalysisStartsWithinTenMinutes) {
  for (int i = 0; i < 20; ++i) put_subject("stock-" + std::to_string(i), expecting(6h));
  provider.available_at = clock.now() + 5h + 3min + 17s;
  advance(5h + 3min + 17s);
  EXPECT_THAT(analysed, IsEmpty());
  advance(10min);
  ASSERT_THAT(analysed, SizeIs(20)) << "of every stock";
  EXPECT_THAT(analysed, Each(Le(*provider.available_at + 10min)));
  advance(2h);
  EXPECT_THAT(analysed, SizeIs(20)) << "and once, however often it is found";
}

TEST_P(TranscriptScenarios, AStockAddedToTheWatchlistIsCheckedAtOnceAheadOfTheOthers) {
  value_of(client().put_queue(kTenant, "default", R"({"paused":true})"));
  for (int i = 0; i < 20; ++i) put_subject("group-" + std::to_string(i), expecting(6h));
  advance(15min);
  EXPECT_THAT(jobs(), SizeIs(20)) << "all of the group wait for their turn";
  // One that is new, and one whose check waits among the others.
  put_subject("watched");
  const auto added = value_of(client().trigger(kTenant, "s", {.priority = 1, .subject = "watched"}));
  const auto moved = value_of(client().trigger(kTenant, "s", {.priority = 1, .subject = "group-19"}));
  EXPECT_TRUE(moved.deduplicated) << "the open check, not a second one";
  EXPECT_EQ(job(moved.id).priority, 1);
  EXPECT_EQ(job(added.id).run_at, clock.now());
  value_of(client().put_queue(kTenant, "default", R"({"paused":false})"));
  run_due();
  ASSERT_THAT(ran, SizeIs(21));
  EXPECT_THAT(std::vector(ran.begin(), ran.begin() + 2), ::testing::UnorderedElementsAre("watched", "group-19"));
  EXPECT_EQ(subject("watched").last_status, "upcoming") << "its result counts like that of any check";
}

TEST_P(TranscriptScenarios, AnApiErrorIsRetriedAndLeavesNoStatusStuck) {
  put_subject("t", expecting(1h));
  provider.down = true;
  advance(2h);
  EXPECT_GE(starts.size(), 24U) << "each check is tried again, with a minute and two between";
  EXPECT_EQ(subject("t").last_status, "error");
  EXPECT_THAT(parked(), IsEmpty()) << "an outage does not fill the DLQ";
  const OutcomeList rows = value_of(client().outcome_items(kTenant, "s", {.subject = "t"}, "", 100));
  for (const OutcomeItem& row : rows.items) {
    EXPECT_TRUE(row.outcome != "skipped" || row.reason == "superseded") << row.slot << " " << row.reason;
  }
  provider.down = false;
  provider.available_at = clock.now();
  advance(10min);
  EXPECT_EQ(subject("t").last_status, "available");
  EXPECT_THAT(analysed, SizeIs(1));
}

TEST_P(TranscriptScenarios, ARetryThatWouldFallAfterTheNextCheckIsNotMade) {  // superseded
  put(R"({"name":"s","trigger":{"kind":"adaptive","bands":[{"within":"24h","every":"10m"}],"otherwise":"4h"},)"
      R"("job":{"type":"transcript.check","max_attempts":9,"retry":{"kind":"fixed","delay":"4m"}}})");
  put_subject("t", expecting(6h));
  provider.down = true;
  advance(25min);
  const OutcomeList rows = value_of(client().outcome_items(kTenant, "s", {.subject = "t"}, "", 100));
  ASSERT_THAT(rows.items, SizeIs(Ge(2U)));
  EXPECT_EQ(rows.items.front().outcome, "skipped");
  EXPECT_EQ(rows.items.front().reason, "superseded");
  EXPECT_EQ(job(rows.items.front().job).attempts.size(), 3U) << "at 0, 4 and 8 minutes; the next would be at 12";
  EXPECT_EQ(subject("t").last_status, "error");
}

TEST_P(TranscriptScenarios, DuplicateTranscriptUrlsSendNoDuplicateMails) {
  provider.available_at = clock.now();
  put_subject("a", expecting(1h));
  put_subject("b", expecting(1h));
  advance(1h);
  EXPECT_GE(starts.size(), 12U);
  EXPECT_THAT(analysed, SizeIs(2)) << "one a stock";
  EXPECT_EQ(calls("mail"), 1) << "both found the same document";
  provider.url = "https://provider/q2.pdf";
  advance(10min);
  EXPECT_EQ(calls("mail"), 2);
}

TEST_P(TranscriptScenarios, TheTransitionFromUpcomingToAvailableTriggersTheAnalysis) {
  put_subject("t", expecting(1h));
  advance(20min);
  EXPECT_EQ(subject("t").last_status, "upcoming");
  EXPECT_FALSE(subject("t").last_available_at.has_value());
  EXPECT_THAT(analysed, IsEmpty());
  provider.available_at = clock.now();
  advance(10min);
  EXPECT_EQ(subject("t").last_status, "available");
  EXPECT_EQ(subject("t").last_available_at, subject("t").last_checked_at);
  ASSERT_THAT(analysed, SizeIs(1));
  EXPECT_EQ(analysed.front(), starts.back()) << "created with the completion of its check";
  const JobInfo analysis = jobs({.type = "analysis"}).front();
  EXPECT_EQ(analysis.subject, "t");
  EXPECT_EQ(analysis.parent, jobs({.type = "transcript.check"}).front().id);
}

TEST_P(TranscriptScenarios, RateLimitAnswersSlowTheChecksDownAndTheyRecover) {
  value_of(client().put_limit(kTenant, "provider", R"({"rate":60,"per":"1m","burst":1})"));
  for (int i = 0; i < 40; ++i) put_subject("stock-" + std::to_string(i), expecting(6h));
  advance(20min);
  // From here on the provider refuses once, for five minutes.
  const Instant refused_at = clock.now();
  bool refused = false;
  handle("transcript.check", [&](JobContext& context) {
    if (!refused) {
      refused = true;
      return rate_limited("provider", in(5min));
    }
    starts.push_back(clock.now());
    return check(context);
  });
  advance(10min);
  ASSERT_TRUE(refused);
  const auto told = heard.of<RateLimited>();
  ASSERT_THAT(told, SizeIs(1));
  const Instant again_at = told.front().until;
  std::vector<Instant> later;
  for (const Instant start : starts) {
    if (start >= refused_at) later.push_back(start);
  }
  EXPECT_THAT(later, Each(::testing::AnyOf(Le(again_at - 5min), Ge(again_at)))) << "nothing while it was told to wait";
  std::vector<Duration> apart;
  for (std::size_t i = 1; i < later.size(); ++i) {
    if (later[i - 1] >= again_at) apart.push_back(later[i] - later[i - 1]);
  }
  ASSERT_THAT(apart, SizeIs(Ge(10U)));
  EXPECT_GE(apart.front(), Duration(1900ms)) << "at half the rate";
  EXPECT_THAT(parked(), IsEmpty());
  starts.clear();
  advance(30min);
  EXPECT_THAT(starts, SizeIs(Ge(3 * 40U))) << "and at full rate again: every stock every ten minutes";
}

// Its worker is another process, and dies with the job in its hands.
class TranscriptWorkers : public Pulls {};

OVER_EVERY_STORE(TranscriptWorkers);

TEST_P(TranscriptWorkers, AWorkerThatCrashesMidJobIsReplacedAndItsWorkIsNotDoneTwice) {
  value_of(node->client().put_schedule(
      "default", R"({"name":"s","trigger":{"kind":"adaptive","bands":[{"within":"24h","every":"10m"}],)"
                 R"("otherwise":"1h"},"job":{"type":"transcript.check","lease":"30s","max_attempts":3}})"));
  value_of(node->client().put_subject("default", "s", "t", R"({"expected_at":"2026-03-02T18:00:00Z"})"));
  value_of(node->client().trigger("default", "s", {.priority = 1, .subject = "t"}));
  const PulledJob crashed = node.lease_one({.worker = "ada"});
  EXPECT_THAT(node.lease({.worker = "bob"}), IsEmpty());
  node->pass(32s);  // ada says nothing: her lease of 30 s is found lost within 2 s more
  EXPECT_EQ(node->heard.count("lease_lost"), 1U);
  const PulledJob next = node.lease_one({.worker = "bob"});
  EXPECT_EQ(next.job.id, crashed.job.id) << "the same job, requeued";
  EXPECT_GT(next.job.token, crashed.job.token);
  const auto found = [] {
    return done().subject_status("available").then({.type = "analysis", .idempotency_key = "t:q1.pdf"});
  };
  value_of(node.settle(next, found()));
  EXPECT_EQ(error_of(node.settle(crashed, found())).code, ErrorCode::stale_token) << "she lives after all";
  EXPECT_EQ(node->heard.count("late_success"), 1U);
  EXPECT_EQ(job(next.job.id).state, JobState::done);
  EXPECT_THAT(value_of(node->client().jobs({.type = "analysis"}, {}, 10)).jobs, SizeIs(1));
  EXPECT_EQ(value_of(node->client().subject("default", "s", "t")).last_status, "available");
}

}  // namespace
}  // namespace carillon::test
