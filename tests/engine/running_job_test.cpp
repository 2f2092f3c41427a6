// What a handler is given: the whole job as it is documented, whatever made it.
#include <map>

#include "engine/support/subject_test.h"

namespace carillon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Members of an object and what stands there, as it is written.
using Members = std::map<std::string, std::string>;

Members members_of(const std::string& json) {
  const JsonValue object = value_of(JsonValue::parse(json));
  Members members;
  for (const std::string& name : object.keys()) members.emplace(name, object.at(name).raw());
  return members;
}

std::string text(std::string_view value) { return "\"" + std::string(value) + "\""; }

class RunningJobs : public SubjectTest {
 protected:
  void SetUp() override {
    handle("work", [this](JobContext& context) {
      starts.push_back(clock.now());
      running.push_back(context.job());
      given.push_back(members_of(to_json(context.job())));
      shown.push_back(members_of(to_json(job(context.job().id))));
      return answer(context);
    });
    handle_counted("parent");
  }

  // The last attempt was given what is written here, and what a plain job has else; and all that is shown of the job.
  void expect_given(const Members& wanted) {
    ASSERT_FALSE(given.empty());
    Members expected{
        {"tenant", R"("default")"},
        {"queue", R"("default")"},
        {"type", R"("work")"},
        {"payload", "null"},
        {"priority", "3"},
        {"state", R"("processing")"},
        {"reason", "null"},
        {"origin", R"("api")"},
        {"parent_id", "null"},
        {"schedule", "null"},
        {"subject", R"("")"},
        {"slot", "null"},
        {"key", "null"},
        {"idempotency_key", "null"},
        {"deadline", "null"},
        {"attempt", "1"},
        {"max_attempts", "5"},
        {"token", "1"},
        {"timeout", R"("5m")"},
        {"limits", "[]"},
        {"notifies", "false"},
        {"deferrals", "0"},
        {"deferred_until", "null"},
        {"defer_reason", "null"},
        {"cancel_requested", "false"},
        {"depends_on", "[]"},
        {"tags", "[]"},
        {"meta", "{}"},
        {"created_by", "null"},
        {"progress", "null"},
        {"output", "null"},
        {"last_error", "null"},
        {"finished_at", "null"},
        {"last_seen_at", "null"},
    };
    for (const auto& [name, value] : wanted) expected[name] = value;
    expected.try_emplace("trigger", expected["origin"]);
    expected["started_at"] = text(format_instant(starts.back()));
    for (const std::string name : {"id", "run_at", "worker", "lease_until", "created_at"}) {
      expected[name] = shown.back()[name];
      EXPECT_NE(expected[name], "null") << name;
    }
    EXPECT_EQ(given.back(), expected);
    Members all = shown.back();
    all.erase("attempts");
    all["trigger"] = expected["trigger"];
    EXPECT_EQ(given.back(), all);
  }

 public:
  std::vector<RunningJob> running;
  std::vector<Members> given;
  std::vector<Members> shown;  // by whoever asks meanwhile
};
OVER_EVERY_STORE(RunningJobs);

TEST_P(RunningJobs, OfAProgram) {
  enqueue({.type = "work"});
  run_due();
  expect_given({});
}

TEST_P(RunningJobs, WithEverything) {
  ASSERT_TRUE(client().put_limit(kTenant, "smtp", R"({"concurrency":3})").has_value());
  const JobRequest request{.type = "work",
                           .queue = "mails",
                           .payload = R"({"to": "ada"})",
                           .priority = 2,
                           .deadline = at("2026-03-03T00:00:00Z"),
                           .idempotency_key = "k1",
                           .retry = RetryNone{},
                           .timeout = 90s,
                           .limits = {"smtp"},
                           .notifies = true,
                           .subject = "user-17",
                           .tags = {"a", "b"},
                           .meta = R"({"who": "ada"})",
                           .created_by = "nightly"};
  JobRequest later = request;
  later.run_at = in(1min);
  enqueue(later);
  enqueue(later);  // the same
  const Instant seen_at = clock.now();
  advance(1min);
  expect_given({{"queue", R"("mails")"},
                {"payload", R"({"to": "ada"})"},
                {"priority", "2"},
                {"deadline", R"("2026-03-03T00:00:00.000Z")"},
                {"idempotency_key", R"("k1")"},
                {"max_attempts", "1"},
                {"timeout", R"("1m30s")"},
                {"limits", R"(["smtp"])"},
                {"notifies", "true"},
                {"subject", R"("user-17")"},
                {"tags", R"(["a","b"])"},
                {"meta", R"({"who": "ada"})"},
                {"created_by", R"("nightly")"},
                {"last_seen_at", text(format_instant(seen_at))}});
  EXPECT_EQ(running.back().meta, R"({"who": "ada"})");
  EXPECT_THAT(running.back().tags, ElementsAre("a", "b"));
  EXPECT_EQ(running.back().timeout, 90s);
}

TEST_P(RunningJobs, OfASchedule) {
  put(R"({"name":"s","trigger":{"kind":"every","every":"1h"},"job":{"type":"work","payload":[1],"tags":["t"]}})");
  const Instant due = value_of(client().schedule(kTenant, "s")).next_at.value();
  advance(1h);
  ASSERT_THAT(running, SizeIs(1));
  EXPECT_EQ(running[0].trigger, "scheduled");
  EXPECT_EQ(given[0]["slot"], text(format_instant(due)));
  EXPECT_EQ(given[0]["schedule"], R"("s")");
  EXPECT_EQ(given[0]["tags"], R"(["t"])");
  shown[0].erase("attempts");
  shown[0]["trigger"] = R"("scheduled")";
  EXPECT_EQ(given[0], shown[0]);
}

TEST_P(RunningJobs, ByHand) {
  put(R"({"name":"s","trigger":{"kind":"daily","at":"05:00"},"job":{"type":"work","meta":{"m":1}}})");
  const JobId id = value_of(client().trigger(kTenant, "s", {})).id;
  run_due();
  const auto by_hand = [&](Members more) {
    for (const std::string name : {"schedule", "slot"}) more[name] = shown.back()[name];
    more.insert({{"origin", R"("manual")"}, {"priority", "2"}, {"meta", R"({"m":1})"}});
    return more;
  };
  expect_given(by_hand({}));
  const JobId again = value_of(client().rerun(kTenant, id)).id;
  run_due();
  expect_given(by_hand({{"parent_id", text(format_job_id(id))}}));
  EXPECT_EQ(running.back().id, again);
  EXPECT_EQ(running.back().parent, id);
}

TEST_P(RunningJobs, ThatFollowsAnother) {
  handle("first", [](JobContext&) { return done().then({.type = "work", .tags = {"then"}}); });
  const JobId first = enqueue({.type = "first"});
  run_due();
  expect_given({{"origin", R"("dependent")"}, {"parent_id", text(format_job_id(first))}, {"tags", R"(["then"])"}});
}

TEST_P(RunningJobs, ThatWaitedForOthers) {
  const JobId a = enqueue({.type = "parent"});
  const JobId b = enqueue({.type = "parent"});
  enqueue({.type = "work", .depends_on = {a, b}});
  run_due();
  expect_given({{"origin", R"("dependent")"},
                {"trigger", R"("dependent")"},
                {"parent_id", text(format_job_id(a))},
                {"depends_on", "[" + text(format_job_id(a)) + "," + text(format_job_id(b)) + "]"}});
}

TEST_P(RunningJobs, OfADelivery) {
  put(R"({"name":"s","trigger":{"kind":"delivery","due":"13:00"},"job":{"type":"work","notifies":true}})");
  put_subject("ada");
  const Instant due = subject("ada").next_at.value();
  clock.advance(due - clock.now());
  run_due();
  ASSERT_THAT(running, SizeIs(1));
  ASSERT_TRUE(running[0].deadline.has_value());
  expect_given({{"origin", R"("scheduled")"},
                {"schedule", R"("s")"},
                {"subject", R"("ada")"},
                {"slot", R"("2026-03-02")"},
                {"deadline", text(format_instant(*running[0].deadline))},
                {"notifies", "true"},
                {"max_attempts", shown[0]["max_attempts"]},
                {"payload", shown[0]["payload"]}});
}

TEST_P(RunningJobs, OfAWindowAndOfACheck) {
  put(R"({"name":"s","trigger":{"kind":"windows","interval":"1h"},"job":{"type":"work"}})");
  put_subject("topic", R"({"cursor_end":"2026-03-02T11:00:00Z"})");
  clock.advance(1min);
  run_due();
  ASSERT_THAT(running, SizeIs(1));
  EXPECT_EQ(given[0]["slot"], R"("2026-03-02T11:00:00.000Z")");
  EXPECT_NE(running[0].key, "");
  EXPECT_EQ(given[0]["key"], text(running[0].key));
  EXPECT_EQ(value_of(JsonValue::parse(running[0].payload)).at("window_end").as_string(), "2026-03-02T12:00:00.000Z");

  put(R"({"name":"c","trigger":{"kind":"adaptive","bands":[{"within":"24h","every":"10m"}],"otherwise":"4h"},)"
      R"("job":{"type":"work"}})");
  put_subject("stock", "{}", "c");
  const Instant due = subject("stock", "c").next_at.value();
  clock.advance(due - clock.now());
  run_due();
  const auto check = std::ranges::find(running, "c", &RunningJob::schedule);
  ASSERT_NE(check, running.end());
  EXPECT_EQ(check->subject, "stock");
  EXPECT_EQ(check->slot, due);
  for (std::size_t i = 0; i < given.size(); ++i) {
    shown[i].erase("attempts");
    shown[i]["trigger"] = R"("scheduled")";
    EXPECT_EQ(given[i], shown[i]) << i;
  }
}

TEST_P(RunningJobs, ThatWasTriedDeferredAndRetriedByHand) {
  std::vector<Outcome> say{defer(in(1min), "busy"), fail("no", "req"), done()};
  answer = [&](JobContext&) { return say.at(running.size() - 1); };
  const JobId id = enqueue({.type = "work", .retry = RetryFixed{.delay = 10min}, .max_attempts = 1});
  run_due();
  advance(1min);
  expect_given({{"token", "2"}, {"deferrals", "1"}, {"max_attempts", "1"}});
  EXPECT_EQ(state(id), JobState::dlq);
  value_of(client().retry(kTenant, id));
  run_due();
  expect_given({{"token", "3"},
                {"deferrals", "1"},
                {"max_attempts", "1"},
                {"last_error", R"({"code":"execution_failed","message":"no"})"},
                {"trigger", R"("retry")"}});
  const std::vector<AttemptInfo> attempts = job(id).attempts;
  ASSERT_THAT(attempts, SizeIs(2));
  EXPECT_EQ(attempts[0].number, 1U);
  EXPECT_EQ(attempts[0].trigger, "api");
  EXPECT_EQ(attempts[1].number, 2U);
  EXPECT_EQ(attempts[1].trigger, "retry");
  EXPECT_EQ(job(id).started_at, attempts[1].started_at);
}

TEST_P(RunningJobs, ThatAGateHeld) {
  ASSERT_TRUE(client().put_maintenance(kTenant, R"({"reason":"moving house"})").has_value());
  enqueue({.type = "work"});
  advance(10min);
  ASSERT_TRUE(client().put_maintenance(kTenant, std::nullopt).has_value());
  advance(1min);
  expect_given({{"deferrals", "1"}});
}

}  // namespace
}  // namespace carillon::test
