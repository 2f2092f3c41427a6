// S1's meal planner on the library: its four jobs in its own JSON, then its lists, section by section.
#include <carillon/carillon.h>
#include <carillon/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "library/collected.h"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// "Job Types": schedule, parameters, priority and retry of each, in S1's own words. Days count from Monday.
constexpr std::array<std::string_view, 4> kJobTypes{
    R"({"name":"weekly_generation","subject":"user_001","trigger":{"type":"weekly","day":4,"hour":6,"minute":0},"job":{
        "type":"weekly_generation","priority":"high","payload":{"diet_principles":["vertical_diet"],"exclude_ingredients":["peanuts"]},
        "retry":{"max_attempts":3,"backoff_seconds":60,"retry_on_failure":true}}})",
    R"({"name":"auto_sync","trigger":{"type":"every_n_hours","hours":2},"job":{
        "type":"auto_sync","priority":"critical","payload":{"sync_type":"fatsecret","full_sync":false},
        "retry":{"max_attempts":5,"backoff_seconds":120,"retry_on_failure":true}}})",
    R"({"name":"daily_advisor","trigger":{"type":"daily","hour":20,"minute":0},"job":{
        "type":"daily_advisor","priority":"medium","payload":{"email_template":"daily","include_macros":true},
        "retry":{"max_attempts":3,"backoff_seconds":60,"retry_on_failure":true}}})",
    R"({"name":"weekly_trends","trigger":{"type":"weekly","day":3,"hour":20,"minute":0},"job":{
        "type":"weekly_trends","priority":"low","payload":{"analysis_days":7,"include_charts":true},
        "retry":{"max_attempts":2,"backoff_seconds":300,"retry_on_failure":true}}})"};

class S1Walk : public ::testing::Test {
 protected:
  S1Walk() {
    for (const char* type : {"weekly_generation", "auto_sync", "daily_advisor", "weekly_trends"}) {
      engine.handle(type, [this](JobContext& context) {
        contexts.push_back(context.job());
        times.push_back(format_instant(clock.now()).substr(0, 16));
        return handler(context);
      });
    }
  }
  void put_all() {
    for (const std::string_view definition : kJobTypes) client.put_schedule("default", definition).value();
  }
  void run_until(std::string_view instant) { engine.advance(at(instant) - clock.now()); }
  JobInfo job(JobId id) { return client.job("default", id).value(); }
  std::vector<JobInfo> jobs(const JobQuery& query) { return client.jobs(query, {}, 100).value().jobs; }
  JobId enqueue(JobRequest request) { return client.enqueue(request).value().id; }
  static ErrorCode code_of(const auto& result) { return result.has_value() ? ErrorCode() : result.error().code; }

  carillon::testing::ManualClock clock{at("2025-12-22T00:00:00Z")};  // a Monday
  carillon::testing::TestEngine engine{clock};
  Client& client = engine.client();
  std::vector<RunningJob> contexts;
  std::vector<std::string> times;
  std::function<Outcome(JobContext&)> handler = [](JobContext&) { return done(R"({"plan":7})"); };
};

TEST_F(S1Walk, JobTypesRunAtTheirFrequencies) {  // "Job Types", "Job Frequencies", calculate_next_schedule
  put_all();
  EXPECT_EQ(client.schedule("default", "weekly_generation").value().next_at, at("2025-12-26T06:00:00Z")) << "a Friday";
  EXPECT_EQ(client.schedule("default", "weekly_trends").value().next_at, at("2025-12-25T20:00:00Z")) << "a Thursday";
  const Preview next = client.preview("default", "daily_advisor", 2).value();
  EXPECT_EQ(next.times[1].at, at("2025-12-23T20:00:00Z"));
  run_until("2025-12-29T00:00:00Z");
  EXPECT_THAT(jobs({.type = "weekly_generation"}), SizeIs(1));
  EXPECT_THAT(jobs({.type = "weekly_trends"}), SizeIs(1));
  EXPECT_THAT(jobs({.type = "daily_advisor"}), SizeIs(7));
  EXPECT_THAT(jobs({.type = "auto_sync"}), SizeIs(84));
  // Once
  enqueue({.type = "auto_sync", .run_at = at("2025-12-30T00:00:00Z")});
  EXPECT_THAT(jobs({.states = {JobState::queued}}), SizeIs(1));
}

TEST_F(S1Walk, AFailedJobIsPendingAgainWithExponentialBackoff) {  // "State Machine", "Exponential Backoff"
  put_all();
  handler = [](JobContext&) { return fail("the provider answered 500", "req"); };
  run_until("2025-12-26T06:10:00Z");
  std::vector<std::string> tries;
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    if (contexts[i].type == "weekly_generation") tries.push_back(times[i].substr(11));
  }
  EXPECT_THAT(tries, ElementsAre("06:00", "06:01", "06:03")) << "60 * 2^0, then 60 * 2^1";
  const JobInfo failed = jobs({.type = "weekly_generation"}).at(0);
  EXPECT_EQ(failed.state, JobState::dlq) << "max retries exceeded";
  EXPECT_EQ(failed.reason, "max_retries_exceeded");
  EXPECT_EQ(failed.last_error_code, "execution_failed");
  EXPECT_EQ(client.schedule("default", "weekly_generation").value().error_count, 1U) << "error_count, last_error";
}

TEST_F(S1Walk, TheBackoffIsAtMostThirtyTwoTimesItsBase) {  // "Cap: 32x maximum backoff multiplier"
  handler = [](JobContext&) { return fail("again"); };
  enqueue({.type = "auto_sync", .retry = RetryExponential{.base = 60s}, .max_attempts = 9});
  engine.advance(10h);
  ASSERT_THAT(contexts, SizeIs(9));
  EXPECT_EQ(at(times[8] + ":00Z") - at(times[7] + ":00Z"), 32min);
}

TEST_F(S1Walk, NoRetry) {  // "max_attempts: 0 = no retry", "retry_on_failure: master switch"
  handler = [](JobContext&) { return fail("once"); };
  for (const char* retry :
       {R"({"max_attempts":0,"backoff_seconds":60})", R"({"max_attempts":3,"retry_on_failure":false})"}) {
    client
        .patch_schedule("default", client.put_schedule("default", kJobTypes[1]).value().name,
                        std::string(R"({"job":{"retry":)") + retry + "}}")
        .value();
    const JobId id = client.trigger("default", "auto_sync", {}).value().id;
    engine.advance(30min);
    EXPECT_EQ(job(id).state, JobState::dlq) << retry;
    EXPECT_THAT(job(id).attempts, SizeIs(1)) << retry;
  }
}

TEST_F(S1Walk, UpdateChangesOnlyWhatIsGiven) {  // "Update Job": every field is an Option
  put_all();
  client.patch_schedule("default", "weekly_generation", R"({"trigger":{"type":"daily","hour":7,"minute":30}})").value();
  client
      .patch_schedule("default", "weekly_generation",
                      R"({"job":{"priority":"critical","payload":{"diet_principles":[]}}})")
      .value();
  client.patch_schedule("default", "weekly_generation", R"({"job":{"retry":{"max_attempts":5,"backoff_seconds":120}}})")
      .value();
  run_until("2025-12-22T08:00:00Z");
  const JobInfo made = jobs({.type = "weekly_generation"}).at(0);
  EXPECT_EQ(made.slot, at("2025-12-22T07:30:00Z"));
  EXPECT_EQ(made.priority, 1);
  EXPECT_EQ(made.payload, R"({"diet_principles":[]})");
  EXPECT_EQ(made.max_attempts, 5U);
  EXPECT_EQ(made.subject, "user_001") << "user_id stays";
  client.patch_schedule("default", "weekly_generation", R"({"enabled":false})").value();
  run_until("2025-12-24T00:00:00Z");
  EXPECT_THAT(jobs({.type = "weekly_generation"}), SizeIs(1)) << "enabled: false";
  // Of one job: priority, parameters, retry_policy, scheduled_for.
  const JobId once = enqueue({.type = "auto_sync", .run_at = in(1h)});
  client
      .change("default", once,
              {.priority = 4, .run_at = clock.now() + 2h, .payload = "[1]", .retry = RetryNone{}, .limits = {}})
      .value();
  EXPECT_EQ(job(once).run_at, clock.now() + 2h);
  EXPECT_EQ(job(once).payload, "[1]");
}

TEST_F(S1Walk, AHandlerGetsItsContext) {  // "Execute Job": JobContext, TriggerSource
  put_all();
  handler = [](JobContext& context) { return context.attempt() == 1 ? fail("first") : done(); };
  run_until("2025-12-26T06:05:00Z");
  const JobId by_hand = client.trigger("default", "weekly_generation", {.payload = R"({"full":true})"}).value().id;
  const JobId dependent = enqueue({.type = "daily_advisor", .depends_on = {by_hand}});
  engine.advance(5min);
  std::vector<std::string> sources;
  for (const RunningJob& context : contexts) {
    if (context.type == "weekly_generation") sources.push_back(context.trigger + " " + std::to_string(context.attempt));
  }
  EXPECT_THAT(sources, ElementsAre("scheduled 1", "retry 2", "manual 1", "retry 2"));
  const auto context = std::ranges::find(contexts, dependent, &RunningJob::id);
  ASSERT_NE(context, contexts.end());
  EXPECT_EQ(context->trigger, "dependent");
  EXPECT_EQ(context->parent, by_hand) << "Dependent(parent_job_id)";
  const auto manual = std::ranges::find(contexts, by_hand, &RunningJob::id);
  EXPECT_EQ(manual->subject, "user_001") << "user_id";
  EXPECT_EQ(JsonValue::parse(manual->payload).value().keys(),
            (std::vector<std::string>{"diet_principles", "exclude_ingredients", "full"}))
      << "parameters";
  EXPECT_EQ(manual->priority, 2) << "user-triggered jobs take precedence";
  const JobId critical = client.trigger("default", "auto_sync", {}).value().id;
  EXPECT_EQ(job(critical).priority, 1) << "and one that is critical stays so";
}

TEST_F(S1Walk, ADependentScheduleRunsAfterItsParentSucceeded) {  // Dependent, "Dependency resolution"
  put_all();
  client
      .put_schedule(
          "default",
          R"({"name":"mail_plan","subject":"user_001","trigger":{"kind":"after","schedule":"weekly_generation"},
                                     "job":{"type":"daily_advisor"}})")
      .value();
  run_until("2025-12-26T06:01:00Z");
  const JobInfo mail = jobs({.schedule = "mail_plan"}).at(0);
  EXPECT_EQ(mail.origin, Origin::dependent);
  EXPECT_EQ(mail.parent, jobs({.schedule = "weekly_generation"}).at(0).id);
}

TEST_F(S1Walk, TheQueueIsOrderedByPriorityAndThenByTime) {  // get_next_pending_job
  for (const int priority : {4, 3, 1, 2}) enqueue({.type = "auto_sync", .priority = priority, .run_at = in(1min)});
  engine.advance(1min);
  std::vector<int> order;
  for (const RunningJob& context : contexts) order.push_back(context.priority);
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 4)) << "critical, high, medium, low";
}

TEST_F(S1Walk, EveryExecutionIsKept) {  // `job_executions`
  handler = [this](JobContext& context) {
    clock.advance(150ms);
    return context.attempt() == 1 ? fail("no answer", "req") : done(R"({"meals":21})");
  };
  const JobId id = enqueue({.type = "auto_sync",
                            .payload = R"({"sync_type":"tandoor"})",
                            .retry = RetryExponential{},
                            .subject = "user_001"});
  engine.advance(5min);
  const JobInfo kept = job(id);
  ASSERT_THAT(kept.attempts, SizeIs(2));
  EXPECT_EQ(kept.attempts[0].number, 1U) << "attempt_number";
  EXPECT_EQ(kept.attempts[0].result, AttemptResult::error) << "status";
  EXPECT_EQ(kept.attempts[0].error, "no answer") << "error_message";
  EXPECT_EQ(kept.attempts[0].finished_at - kept.attempts[0].started_at, 150ms) << "duration_ms";
  EXPECT_EQ(kept.attempts[1].trigger, "retry") << "trigger_type";
  EXPECT_EQ(kept.output, R"({"meals":21})");
  // Indexes: by user, by type, by status, by parameter.
  EXPECT_THAT(jobs({.states = {JobState::done}, .type = "auto_sync", .subject = "user_001", .text = "tandoor"}),
              SizeIs(1));
  EXPECT_THAT(to_json(kept), HasSubstr(R"("output":{"meals":21})")) << "scheduled_job_to_json, job_execution_to_json";
}

TEST_F(S1Walk, Configuration) {  // `scheduler_config`
  client
      .put_config(R"({"enabled":true,"max_concurrent_jobs":4,"check_interval_seconds":60,"timezone":"America/Chicago",
                        "default_retry_max_attempts":2,"default_retry_backoff_seconds":30})")
      .value();
  client.put_schedule("default", kJobTypes[2]).value();
  EXPECT_EQ(client.schedule("default", "daily_advisor").value().next_at, at("2025-12-22T02:00:00Z"))
      << "20:00 in Chicago";
  handler = [](JobContext&) { return fail("again"); };
  const JobId id = enqueue({.type = "auto_sync"});
  engine.advance(1h);
  ASSERT_THAT(job(id).attempts, SizeIs(2));
  EXPECT_EQ(times[1], "2025-12-22T00:00") << "30 s later";
}

TEST_F(S1Walk, EveryErrorHasItsType) {  // "Error Types"
  put_all();
  EXPECT_EQ(code_of(client.job("default", JobId())), ErrorCode::not_found) << "JobNotFound";
  handler = [this](JobContext& context) {
    EXPECT_EQ(code_of(client.run_now("default", context.job().id)), ErrorCode::job_already_running)
        << "JobAlreadyRunning";
    return fail("no", "llm");
  };
  const JobId id = enqueue({.type = "auto_sync", .retry = RetryNone{}});
  engine.run_due();
  EXPECT_EQ(job(id).last_error_code, "execution_failed") << "ExecutionFailed";
  EXPECT_EQ(job(id).last_error, "no");
  EXPECT_EQ(job(id).reason, "max_retries_exceeded") << "MaxRetriesExceeded";
  const auto never = client.put_schedule(
      "default", R"({"name":"never","trigger":{"kind":"cron","cron":"0 0 30 2 *"},"job":{"type":"t"}})");
  EXPECT_EQ(code_of(never), ErrorCode::invalid_configuration) << "InvalidConfiguration";
  EXPECT_EQ(code_of(client.enqueue({.type = "t", .depends_on = {JobId()}})), ErrorCode::dependency_not_met)
      << "DependencyNotMet";
  const JobId waits = enqueue({.type = "auto_sync", .depends_on = {id}});
  client.discard("default", id).value();
  EXPECT_EQ(job(waits).reason, "dependency_not_met");
  EXPECT_THAT(job(waits).last_error, HasSubstr(format_job_id(id))) << "and which";
  client.put_config(R"({"enabled":false})").value();
  EXPECT_EQ(code_of(client.trigger("default", "auto_sync", {})), ErrorCode::scheduler_disabled) << "SchedulerDisabled";
  EXPECT_EQ(to_string(ErrorCode::database_error), "database_error") << "DatabaseError";
}

}  // namespace
}  // namespace carillon::test
