// Adaptive checks under a provider's limit and a tenant's cap: both hold, neither loses a subject (S2; invariant 6).
#include "engine/support/hand_node.h"

namespace carillon::test {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

constexpr std::string_view kWatchAll =
    R"({"name":"watch","trigger":{"kind":"adaptive","bands":[{"within":"24h","every":"10m"}],"otherwise":"4h"},)"
    R"("job":{"type":"check","limits":["provider"],"timeout":"30m"}})";

class AdaptiveLimits : public ::testing::Test {
 protected:
  void watch(std::string_view tenant, int subjects) {
    value_of(node.client().put_schedule(tenant, kWatchAll));
    std::string lines;
    for (int i = 0; i < subjects; ++i) {
      lines += R"({"subject":"t)" + std::to_string(i) + R"(","expected_at":"2026-03-02T18:00:00Z"})" + "\n";
    }
    value_of(node.client().import_subjects(tenant, "watch", lines));
  }
  void take_all() {
    while (RunPtr run = node.take()) {
      ASSERT_TRUE(node.begin(run));
      ++starts[run->job.tenant];
      ++starts_of[run->job.tenant + "/" + run->job.subject];
      running.push_back(std::move(run));
    }
    std::map<std::string, std::size_t> now;
    for (const RunPtr& run : running) ++now[run->job.tenant];
    for (const auto& [tenant, count] : now) most[tenant] = std::max(most[tenant], count);
    most_together = std::max(most_together, running.size());
  }
  void finish_first(const Outcome& outcome) {
    const RunPtr run = running.front();
    running.pop_front();
    node.finish(run, outcome);
  }
  // Attempts take `each`, one after the other comes to its end.
  void work_for(Duration time, Duration each) {
    for (Duration passed{}; passed < time; passed += each) {
      take_all();
      node.pass(each);
      while (!running.empty()) finish_first(done().subject_status("pending"));
    }
  }

 public:
  HandNode node{{.max_concurrency = 100}};
  std::deque<RunPtr> running;
  std::map<std::string, std::size_t> starts;
  std::map<std::string, std::size_t> starts_of;
  std::map<std::string, std::size_t> most;
  std::size_t most_together = 0;
};

TEST_F(AdaptiveLimits, ATenantsCapAndAProvidersLimitHoldTogether) {
  value_of(node.client().put_limit("", "provider", R"({"concurrency":4})"));
  value_of(node.client().put_settings("a", R"({"max_concurrency":2})"));
  watch("a", 30);
  watch("b", 30);
  work_for(1h, 30s);
  EXPECT_EQ(most["a"], 2U) << "its own cap";
  EXPECT_EQ(most["b"], 3U) << "what the provider's leaves to one of two";
  EXPECT_EQ(most_together, 4U) << "the provider's, over both";
  EXPECT_THAT(starts_of, SizeIs(60)) << "and nobody starves";
  for (const auto& [subject, count] : starts_of) EXPECT_GE(count, 4U) << subject;
}

TEST_F(AdaptiveLimits, ALimitThatIsTooTightMakesChecksRarerNotMore) {
  value_of(node.client().put_limit("a", "provider", R"({"rate":1,"per":"1m","burst":1})"));
  watch("a", 30);  // would be 180 checks an hour; 60 may start
  work_for(3h, 30s);
  EXPECT_LE(starts["a"], 182U);
  EXPECT_GE(starts["a"], 150U);
  EXPECT_THAT(starts_of, SizeIs(30));
  for (const auto& [subject, count] : starts_of) EXPECT_GE(count, 3U) << subject << ": first come, first served";
  const auto open = value_of(node.client().jobs({.tenant = "a", .states = {JobState::queued}}, {}, 500)).jobs;
  EXPECT_LE(open.size(), 30U) << "one open check a subject, however many fell due";
  std::uint64_t held = 0;
  for (const Finalized& one : node.heard.of<Finalized>()) held += one.status == JobState::skipped ? one.count : 0;
  EXPECT_GT(held, 100U) << "and each that did is told: skipped, check_open";
}

TEST_F(AdaptiveLimits, A429OfOneCheckHoldsThemAllAndBurnsNoAttempt) {
  value_of(node.client().put_limit("a", "provider", R"({"rate":60,"per":"1m","burst":10})"));
  watch("a", 20);
  value_of(node.client().put_schedule(
      "a", R"({"name":"free","trigger":{"kind":"every","every":"1m"},"job":{"type":"free"}})"));
  node.pass(5min);
  take_all();
  ASSERT_FALSE(running.empty());
  while (!running.empty() && running.front()->job.type != "check") finish_first(done());
  ASSERT_FALSE(running.empty());
  const JobId refused = running.front()->job.id;
  finish_first(rate_limited("provider", in(10min)));
  EXPECT_EQ(value_of(node.client().job("a", refused)).attempt, 0U) << "given back";
  while (!running.empty()) finish_first(done());
  starts_of.clear();
  for (int i = 0; i < 9; ++i) {
    node.pass(1min);
    take_all();
    while (!running.empty()) finish_first(done());
  }
  std::size_t checks = 0;
  for (const auto& [subject, count] : starts_of) checks += subject.starts_with("a/t") ? count : 0;
  EXPECT_EQ(checks, 0U) << "none of the provider's";
  EXPECT_GE(starts_of["a/"], 8U) << "what does not use it goes on";
  work_for(30min, 30s);
  for (int i = 0; i < 20; ++i) EXPECT_GE(starts_of["a/t" + std::to_string(i)], 1U) << i;
  EXPECT_THAT(value_of(node.client().jobs({.tenant = "a", .states = {JobState::dlq}}, {}, 10)).jobs, IsEmpty());
}

}  // namespace
}  // namespace carillon::test
