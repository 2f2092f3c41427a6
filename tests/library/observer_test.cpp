// An engine with its observer, on real threads: lines, the event log, and a breach that is told everywhere, once.
#include <carillon/carillon.h>
#include <carillon/metrics.h>
#include <carillon/observer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "library/collected.h"
#include "support/scratch_folder.h"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

class LibraryObserver : public ::testing::Test {
 protected:
  // An hour: only what a test asks for is looked at.
  SloOptions slo{.eval = 1h, .breach_consecutive = 1};
  const StorePtr store = open_store("memory:").value();
  Lines lines;
  Log log{lines.options()};
};

TEST_F(LibraryObserver, ABreachIsAWarningAnEventAMetricAndALineOfTheEventLog) {
  const ScratchFolder folder;
  EventLog event_log = EventLog::open((folder.path() / "events.jsonl").string()).value();
  Metrics metrics;
  std::atomic<int> heard = 0;
  {
    Engine engine(*store, {.max_concurrency = 2});
    engine.on_event([&](const Event& event) { heard += name_of(event) == "slo.breach" ? 1 : 0; });
    Observer observer(engine, {.slo = slo, .log = &log, .event_log = &event_log, .on_turn = [&](const SloTurn& turn) {
                                 metrics.hear(turn);
                               }});
    engine.handle("bad", [](JobContext&) { return permanent("the provider said no", "req"); });
    engine.run_in_background();
    engine.client().enqueue({.type = "bad"}).value();
    ASSERT_TRUE(lines.wait_for("attempt failed"));
    while (engine.count(JobState::dlq).value_or(0) == 0) std::this_thread::yield();
    observer.look_now();
    observer.look_now();  // still so, and told already
    ASSERT_TRUE(lines.wait_for("SLO breached: dlq"));
    EXPECT_THAT(metrics.text(), HasSubstr("carillon_slo_breached{slo=\"dlq\"} 1"));
    EXPECT_THAT(observer.slo_json(), HasSubstr(R"("name":"dlq","state":"breached")"));
    while (heard == 0) std::this_thread::yield();

    SloOptions patient = slo;
    patient.dlq_max = 5;
    observer.set_thresholds(patient);
    observer.look_now();
    ASSERT_TRUE(lines.wait_for("SLO recovered: dlq"));
    EXPECT_THAT(metrics.text(), HasSubstr("carillon_slo_breached{slo=\"dlq\"} 0"));
  }
  log.stop();
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(lines.saying("SLO breached").size(), 1U);
  EXPECT_EQ(lines.saying("SLO breached").front().level(), LogLevel::warn);
  EXPECT_EQ(fields_of(lines.saying("attempt failed").front()).at("error").as_string(), "the provider said no");
  const std::string written = folder.read("events.jsonl");
  EXPECT_THAT(written, HasSubstr(R"({"event":"slo.breach")"));
  EXPECT_THAT(written, HasSubstr(R"({"event":"sched.job.stop")"));
  EXPECT_EQ(event_log.lost(), 0U);
}

TEST_F(LibraryObserver, ItLooksByItselfEveryEval) {
  slo.eval = 100ms;
  Engine engine(*store, {.max_concurrency = 1});
  const Observer observer(engine, {.slo = slo, .log = &log});
  engine.handle("bad", [](JobContext&) { return permanent("no"); });
  engine.run_in_background();
  engine.client().enqueue({.type = "bad"}).value();
  EXPECT_TRUE(lines.wait_for("SLO breached: dlq"));
}

TEST_F(LibraryObserver, AHealthyEngineWarnsOfNothing) {
  Engine engine(*store, {.max_concurrency = 1});
  Observer observer(engine, {.slo = slo, .log = &log});
  engine.handle("good", [](JobContext&) { return done(); });
  engine.run_in_background();
  engine.client().enqueue({.type = "good"}).value();
  ASSERT_TRUE(lines.wait_for("attempt ended"));
  observer.look_now();
  engine.stop();
  log.stop();
  for (const LogLine& line : lines.all()) EXPECT_EQ(line.level(), LogLevel::debug) << line.message();
  EXPECT_THAT(observer.slo_json(), Not(HasSubstr("breached\"")));
}

TEST_F(LibraryObserver, AnEngineMayOutliveIt) {
  Engine engine(*store, {.max_concurrency = 1});
  {
    const Observer observer(engine, {.slo = slo, .log = &log});
  }
  engine.handle("good", [](JobContext&) { return done(); });
  engine.run_in_background();
  engine.client().enqueue({.type = "good"}).value();
  EXPECT_TRUE(lines.wait_for("attempt ended")) << "lines go on; objectives are not looked at any more";
}

}  // namespace
}  // namespace carillon::test
