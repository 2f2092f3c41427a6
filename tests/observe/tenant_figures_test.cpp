#include "observe/tenant_figures.h"

#include <carillon/json.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "support/results.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::value_of;
using testing::ElementsAre;

const Instant kNow = std::chrono::sys_days{std::chrono::year{2026} / 3 / 29};

struct Heard {
  TenantFigures figures{{.window = 15min, .job_p95_max = 1s, .cutoff_rate_max = 0.2, .stalled_max = 0}};
  Duration boot = 77h;

  void hear(EventBody body) { figures.hear({.at = kNow, .body = std::move(body)}, boot); }
  void stopped(std::string tenant, Duration took, AttemptResult result = AttemptResult::ok) {
    hear(JobStopped{.job = {}, .tenant = std::move(tenant), .type = "t", .duration = took, .result = result});
  }
  Counters totals(std::vector<std::string> tenants) { return figures.totals(tenants).value(); }
  JsonValue item(std::string_view name, std::vector<std::string> tenants, std::optional<std::uint64_t> parked = 0) {
    const JsonValue slo =
        value_of(JsonValue::parse(figures.slo_json(tenants, {.boot = boot, .now = kNow, .parked = parked})));
    for (std::size_t i = 0; i < slo.at("items").size(); ++i) {
      if (slo.at("items").at(i).at("name").as_string() == name) return slo.at("items").at(i);
    }
    ADD_FAILURE() << "there is no objective " << name;
    return slo;
  }
};

TEST(TenantFigures, TotalsAreOfTheTenantsThatAreAskedFor) {
  Heard heard;
  heard.hear(JobPicked{.job = {}, .tenant = "acme", .type = "t"});
  heard.stopped("acme", 1ms);
  heard.stopped("acme", 1ms, AttemptResult::error);
  heard.hear(JobChanged{.job = {}, .tenant = "acme", .state = JobState::dlq});
  heard.hear(JobChanged{.job = {}, .tenant = "acme", .state = JobState::done});
  heard.hear(JobPicked{.job = {}, .tenant = "other", .type = "t"});
  heard.hear(SweepStopped{.looked_at = 7, .repaired = 1});
  heard.hear(StoreFailed{});

  EXPECT_EQ(heard.totals({"acme"}), (Counters{.picked = 1, .succeeded = 1, .failed = 1, .dlq = 1}));
  EXPECT_EQ(heard.totals({"other"}), Counters{.picked = 1});
  EXPECT_EQ(heard.totals({"acme", "other"}).picked, 2);
  EXPECT_EQ(heard.totals({"nobody"}), Counters{});
  EXPECT_EQ(heard.totals({}), Counters{});
}

TEST(TenantFigures, ATenantThatIsGoneLeavesNothingToTheNextOfItsName) {
  Heard heard;
  heard.stopped("acme", 2s);
  heard.figures.forget("acme");
  EXPECT_EQ(heard.totals({"acme"}), Counters{});
  heard.stopped("acme", 1ms);
  EXPECT_EQ(heard.totals({"acme"}).succeeded, 1);
  EXPECT_EQ(heard.item("job_latency", {"acme"}).at("samples").as_int(), 1);
}

TEST(TenantFigures, OtherThresholdsHoldFromThenOn) {
  Heard heard;
  heard.stopped("acme", 2s);
  heard.figures.set_thresholds(
      {.window = 5min, .job_p95_max = 1s, .cutoff_rate_max = 0.2, .dlq_max = 7, .stalled_max = 3});
  EXPECT_EQ(heard.item("dlq", {"acme"}, 7).at("threshold").as_int(), 7);
  EXPECT_EQ(heard.item("dlq", {"acme"}, 7).at("state").as_string(), "ok");
  EXPECT_EQ(heard.item("dlq", {"acme"}, 8).at("state").as_string(), "breached");
  // Of one that was measured before.
  heard.hear(LeaseLost{.job = {}, .tenant = "acme", .worker = "w"});
  EXPECT_EQ(heard.item("stalled", {"acme"}).at("state").as_string(), "ok");
  EXPECT_EQ(heard.item("stalled", {"acme"}).at("window").as_string(), "15m") << "the length stays";
}

TEST(TenantFigures, ObjectivesAreOverTheirOwnJobs) {
  Heard heard;
  for (int i = 0; i < 100; ++i) heard.stopped("slow", 3s);
  heard.stopped("quick", 1ms);
  heard.hear(LeaseLost{.job = {}, .tenant = "slow", .worker = "w"});

  EXPECT_EQ(heard.item("job_latency", {"slow"}).at("state").as_string(), "breached");
  EXPECT_EQ(heard.item("job_latency", {"quick"}).at("state").as_string(), "ok");
  EXPECT_EQ(heard.item("job_latency", {"quick"}).at("samples").as_int(), 1);
  EXPECT_EQ(heard.item("job_latency", {"quick", "slow"}).at("samples").as_int(), 101);
  EXPECT_EQ(heard.item("stalled", {"slow"}).at("state").as_string(), "breached");
  EXPECT_EQ(heard.item("stalled", {"quick"}).at("state").as_string(), "ok");
  EXPECT_EQ(heard.item("dlq", {"quick"}, 3).at("value").as_int(), 3);
  EXPECT_TRUE(heard.item("job_latency", {"nobody"}).at("value").is_null());
}

TEST(TenantFigures, WhatIsTheServersIsNotAmongThem) {
  Heard heard;
  heard.hear(QueueDepth{.depth = 1'000'000});
  heard.hear(InFlight{.in_flight = 8, .max_concurrency = 8});
  const JsonValue slo =
      value_of(JsonValue::parse(heard.figures.slo_json(std::array<std::string, 1>{"acme"}, {.boot = heard.boot})));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < slo.at("items").size(); ++i)
    names.push_back(slo.at("items").at(i).at("name").as_string());

  EXPECT_THAT(names, ElementsAre("job_latency", "cutoff_miss_rate", "dlq", "stalled"));
}

TEST(TenantFigures, WhatIsOlderThanTheWindowIsForgotten) {
  Heard heard;
  heard.stopped("acme", 3s);
  heard.boot += 17min;
  EXPECT_EQ(heard.item("job_latency", {"acme"}).at("samples").as_int(), 0);
  EXPECT_EQ(heard.totals({"acme"}).succeeded, 1);
}

TEST(TenantFigures, TheirNumberIsBounded) {
  Heard heard;
  for (std::size_t i = 0; i < TenantFigures::kTenantsMax + 10; ++i) heard.stopped("t" + std::to_string(i), 1ms);

  EXPECT_EQ(heard.totals({"t0"}).succeeded, 1);
  EXPECT_EQ(heard.item("job_latency", {"t0"}).at("samples").as_int(), 1);
  EXPECT_EQ(heard.item("job_latency", {"t5000"}).at("samples").as_int(), 0);
  EXPECT_FALSE(heard.figures.totals(std::array<std::string, 1>{"t10005"}).has_value());
  // A place is free again when somebody has been quiet for a window.
  heard.boot += 20min;
  heard.stopped("t5000", 1ms);
  EXPECT_EQ(heard.item("job_latency", {"t5000"}).at("samples").as_int(), 1);
}

}  // namespace
}  // namespace carillon
