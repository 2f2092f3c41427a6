// Prometheus' text of an engine in this process, judged by the engine's own counters.
#include <carillon/carillon.h>
#include <carillon/metrics.h>
#include <carillon/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "library/collected.h"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

double value_of(const Metrics& metrics, const std::string& series) {
  std::istringstream text(metrics.text());
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with(series + " ")) return std::stod(line.substr(series.size() + 1));
  }
  ADD_FAILURE() << series << " is not there";
  return -1;
}

TEST(LibraryMetrics, CountersAgreeWithTheEngine) {
  carillon::testing::ManualClock clock(at("2026-03-03T00:00:00Z"));
  carillon::testing::TestEngine engine(clock);
  Metrics metrics;
  engine.on_event([&](const Event& event) { metrics.hear(event); });
  engine.handle("good", [](JobContext&) { return done(); });
  engine.handle("bad", [](JobContext&) { return permanent("no", "req"); });
  EXPECT_EQ(value_of(metrics, "carillon_jobs_picked_total"), 0) << "nothing was told yet";
  for (int i = 0; i < 3; ++i) engine.client().enqueue({.type = "good"}).value();
  engine.client().enqueue({.type = "bad"}).value();
  engine.run_due();
  const Counters counters = engine.counters();
  EXPECT_EQ(value_of(metrics, "carillon_jobs_picked_total"), 4);
  EXPECT_EQ(value_of(metrics, "carillon_jobs_picked_total"), static_cast<double>(counters.picked));
  EXPECT_EQ(value_of(metrics, "carillon_jobs_succeeded_total"), static_cast<double>(counters.succeeded));
  EXPECT_EQ(value_of(metrics, "carillon_jobs_failed_total"), static_cast<double>(counters.failed));
  EXPECT_EQ(value_of(metrics, "carillon_jobs_dlq_total"), static_cast<double>(counters.dlq));
  EXPECT_EQ(value_of(metrics, "carillon_handler_duration_ms_count"), 4);
  EXPECT_THAT(metrics.text(), HasSubstr("# TYPE carillon_handler_duration_ms histogram"));
}

TEST(LibraryMetrics, AnObjectiveIsOneWhileItIsBreached) {
  Metrics metrics;
  const std::string series = R"(carillon_slo_breached{slo="job_latency"})";
  EXPECT_EQ(value_of(metrics, series), 0);
  metrics.hear(SloTurn{.slo = Slo::job_latency, .measure = {}, .standing = {.breached = true}});
  EXPECT_EQ(value_of(metrics, series), 1);
  EXPECT_EQ(value_of(metrics, R"(carillon_slo_breached{slo="dlq"})"), 0);
  metrics.hear(SloTurn{.slo = Slo::job_latency, .measure = {}, .standing = {.breached = false}});
  EXPECT_EQ(value_of(metrics, series), 0);
}

}  // namespace
}  // namespace carillon::test
