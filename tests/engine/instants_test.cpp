// What is shown is when it happens: every instant of an answer that lies ahead is gone to, exactly. A millisecond
// before it, it has not happened; at it, it has. The clock has microseconds that nobody sees.
#include <functional>

#include "base/json.h"
#include "engine/support/pull_node.h"
#include "engine/support/subject_test.h"

namespace carillon::test {
namespace {

constexpr std::string_view kStart = "2026-03-02T12:00:00.000456Z";

// What a member of a JSON answer says, as an instant.
Instant shown(const std::string& json, std::string_view member) {
  const Json parsed = value_of(parse_json(json));
  const Json* const value = parsed.find(member);
  if (value == nullptr || value->type != JsonType::string)
    throw std::runtime_error(json + " has no " + std::string(member));
  return at(value->text);
}
Instant shown(std::optional<Instant> instant) { return at(format_instant(instant.value())); }

class ShownInstants : public SubjectTest {
 protected:
  void SetUp() override {
    clock.advance(456us);
    handle("work", [this](JobContext&) {
      ++ran_work;
      return done();
    });
    handle("flaky", [this](JobContext&) {
      ++ran_flaky;
      return fail("no");
    });
  }
  // To that very microsecond.
  void go(Instant to) {
    ASSERT_GT(to, exact);
    advance(to - exact);
    exact = to;
  }
  // Somewhere between two milliseconds, so that what is made now could have a part that nobody sees.
  void go_between(Duration at_least = 1min) { go(cut_to(exact + at_least) + 321us); }
  static Instant cut_to(Instant instant) { return std::chrono::floor<std::chrono::milliseconds>(instant); }

  void expect_happens_at(Instant when, const std::function<bool()>& has_happened, std::string_view what) {
    SCOPED_TRACE(std::string(what) + " at " + format_instant(when));
    ASSERT_GT(when, exact);
    if (when - 1ms > exact) go(when - 1ms);
    EXPECT_FALSE(has_happened()) << "a millisecond early";
    go(when);
    EXPECT_TRUE(has_happened()) << "at the very instant that was shown";
  }
  std::string json(JobId id) { return to_json(job(id)); }
  std::optional<Instant> next_at(std::string_view name) { return value_of(client().schedule(kTenant, name)).next_at; }
  std::size_t jobs_of(std::string_view schedule) { return jobs({.schedule = std::string(schedule)}).size(); }

  Instant exact = at(kStart);
  int ran_work = 0;
  int ran_flaky = 0;
};

OVER_EVERY_STORE(ShownInstants);

TEST_P(ShownInstants, OfJobsThatWereAskedForLater) {
  for (const RunAt& when : {in(90s), in(Duration(90'000'001)), RunAt(exact + 100s + 7us)}) {
    go_between();
    const JobId id = enqueue({.type = "work", .run_at = when.at ? RunAt(exact + 100s + 7us) : when});
    expect_happens_at(shown(json(id), "run_at"), [&] { return state(id) == JobState::done; }, "run_at");
  }
  const JobId moved = enqueue({.type = "work", .run_at = in(8h)});
  go_between();
  ASSERT_TRUE(client().change(kTenant, moved, {.run_at = exact + 60s + 5us}).has_value());
  expect_happens_at(shown(json(moved), "run_at"), [&] { return state(moved) == JobState::done; }, "a changed run_at");
}

TEST_P(ShownInstants, OfRetries) {
  const std::vector<RetryPolicy> policies = {RetryTable{}, RetryTable{.delays = {10s, 1min}, .jitter = 0.3},
                                             RetryExponential{.base = 7s, .jitter = 0.2}, RetryFixed{.delay = 11s}};
  for (const RetryPolicy& policy : policies) {
    go_between();
    ran_flaky = 0;
    const JobId id = enqueue({.type = "flaky", .retry = policy, .max_attempts = 6});
    run_due();
    for (int attempts = 1; attempts <= 4; ++attempts) {
      ASSERT_EQ(ran_flaky, attempts);
      const Explanation explained = value_of(client().explain(kTenant, id));
      EXPECT_EQ(shown(explained.next_at), shown(json(id), "run_at"));
      expect_happens_at(shown(json(id), "run_at"), [&] { return ran_flaky > attempts; }, "the next attempt");
    }
    ASSERT_TRUE(client().cancel(kTenant, id).has_value());
  }
  handle("again", [this](JobContext&) { return ++ran_flaky == 1 ? retry_after(Duration(5'000'001)) : done(); });
  go_between();
  ran_flaky = 0;
  const JobId again = enqueue({.type = "again"});
  run_due();
  expect_happens_at(shown(json(again), "run_at"), [&] { return ran_flaky == 2; }, "what the handler asked for");
}

TEST_P(ShownInstants, OfDeadlines) {
  go_between();
  const JobId id = enqueue({.type = "nobody", .run_at = in(8h), .deadline = exact + 10min + 3us});
  expect_happens_at(shown(json(id), "deadline"), [&] { return state(id) == JobState::cutoff_reached; }, "deadline");
}

TEST_P(ShownInstants, OfDeferrals) {
  handle("later", [this](JobContext&) { return ++ran_flaky == 1 ? defer(in(Duration(5'000'001)), "busy") : done(); });
  go_between();
  const JobId id = enqueue({.type = "later"});
  run_due();
  const Instant until = shown(json(id), "deferred_until");
  EXPECT_EQ(until, shown(json(id), "run_at"));
  expect_happens_at(until, [&] { return ran_flaky == 2; }, "deferred_until");
}

TEST_P(ShownInstants, OfSchedules) {
  go_between();
  const std::string once = format_instant(exact + 10min);
  for (const std::string& trigger :
       {std::string(R"({"kind":"every","every":"7m"})"), R"({"kind":"once","at":")" + once.substr(0, 23) + R"(777Z"})",
        std::string(R"({"kind":"rrule","rrule":"FREQ=HOURLY;INTERVAL=3"})"),
        std::string(R"({"kind":"daily","at":"13:37"})")}) {
    go_between(1s);
    value_of(client().put_schedule(kTenant, R"({"name":"s","trigger":)" + trigger + R"(,"job":{"type":"work"}})"));
    const std::size_t before = jobs_of("s");
    expect_happens_at(shown(next_at("s")), [&] { return jobs_of("s") > before; }, trigger);
    ASSERT_TRUE(client().delete_schedule(kTenant, "s").has_value());
  }
}

TEST_P(ShownInstants, OfJitter) {
  go_between();
  value_of(client().put_schedule(
      kTenant, R"({"name":"s","trigger":{"kind":"every","every":"1h"},"jitter":"30m","job":{"type":"work"}})"));
  for (int i = 0; i < 3; ++i) {
    const Instant slot = shown(next_at("s"));
    go(slot);
    const JobInfo made = jobs({.schedule = "s"}).front();
    const Instant run_at = shown(json(made.id), "run_at");
    EXPECT_GE(run_at, slot);
    EXPECT_LE(run_at, slot + 30min);
    expect_happens_at(run_at, [&] { return state(made.id) == JobState::done; }, "run_at with jitter");
  }
}

TEST_P(ShownInstants, OfSubjects) {
  go_between();
  const std::vector<std::pair<std::string, std::string>> schedules = {
      {R"({"name":"s","trigger":{"kind":"adaptive","bands":[{"within":"1d","every":"2s"}],"otherwise":["3s","7s"]},"job":{"type":"work"}})",
       "{}"},
      {R"({"name":"s","trigger":{"kind":"windows","interval":"7m","lag":"1s"},"job":{"type":"work"}})", "{}"},
      {R"({"name":"s","trigger":{"kind":"delivery","due":"20:00","spread":true},"job":{"type":"work"}})", "{}"}};
  for (const auto& [definition, body] : schedules) {
    go_between();
    put(definition);
    put_subject("ada", body);
    for (int i = 0; i < 3; ++i) {
      const SubjectInfo ada = subject("ada");
      ASSERT_TRUE(ada.next_at) << definition;
      const std::size_t before = jobs_of("s");
      expect_happens_at(shown(ada.next_at), [&] { return jobs_of("s") > before; }, definition);
      for (const JobInfo& made : jobs({.schedule = "s"})) {
        if (made.state != JobState::queued) continue;
        expect_happens_at(
            shown(json(made.id), "run_at"), [&] { return state(made.id) == JobState::done; }, "its run_at");
      }
    }
    ASSERT_TRUE(client().delete_schedule(kTenant, "s").has_value());
  }
}

TEST_P(ShownInstants, OfLeases) {
  PullNode node({.start = at(kStart)});
  const JobId id = value_of(node->client().enqueue({.type = "mail"})).id;
  const PulledJob leased = node.lease_one({.lease = 10s});
  const Instant until = shown(leased.lease_until);
  EXPECT_EQ(until, shown(to_json(value_of(node->client().job(kTenant, id))), "lease_until"));
  const Instant ends = at(kStart) + 10s;
  EXPECT_GE(until, ends);
  EXPECT_LT(until, ends + 1ms);
  node->pass(until - at(kStart));
  EXPECT_EQ(value_of(node->client().job(kTenant, id)).state, JobState::queued) << "its end has come";
}

}  // namespace
}  // namespace carillon::test
