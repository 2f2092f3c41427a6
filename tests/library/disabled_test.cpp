// The switch of the whole engine: what asks for a start is refused by its name, what may wait is taken. (S1
// SchedulerDisabled; invariant 32)
#include <carillon/carillon.h>
#include <carillon/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "library/collected.h"
#include "support/scratch_folder.h"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;
using testing::ManualClock;
using testing::TestEngine;

constexpr std::string_view kHourly =
    R"({"name":"hourly","trigger":{"kind":"every","every":"1h"},"job":{"type":"work"}})";
constexpr std::string_view kWindows =
    R"({"name":"windows","trigger":{"kind":"windows","interval":"1h"},"job":{"type":"work"}})";

class LibraryDisabled : public ::testing::Test {
 protected:
  ManualClock clock{at("2026-03-03T00:00:00Z")};
  int ran = 0;
  void serve(TestEngine& engine) {
    engine.handle("work", [this](JobContext&) {
      ++ran;
      return done();
    });
  }
  static ErrorCode code_of(const auto& result) { return result ? ErrorCode::invalid_request : result.error().code; }
};

TEST_F(LibraryDisabled, WhatAsksForAStartIsRefusedAndAJobIsTaken) {
  TestEngine engine(clock);
  serve(engine);
  Client& client = engine.client();
  client.put_schedule("default", kHourly).value();
  client.put_schedule("default", kWindows).value();
  const JobId later = client.enqueue({.type = "work", .run_at = in(10min)}).value().id;

  client.put_config(R"({"enabled": false})").value();
  EXPECT_EQ(code_of(client.run_now("default", later)), ErrorCode::scheduler_disabled);
  EXPECT_EQ(code_of(client.trigger("default", "hourly", {})), ErrorCode::scheduler_disabled);
  EXPECT_EQ(
      code_of(client.backfill("default", "windows",
                              {.subject = {}, .from = at("2026-03-02T00:00:00Z"), .to = at("2026-03-02T02:00:00Z")})),
      ErrorCode::scheduler_disabled);
  EXPECT_EQ(to_string(ErrorCode::scheduler_disabled), "scheduler_disabled");
  EXPECT_TRUE(client.enqueue({.type = "work"})) << "it waits until the engine is enabled";
  EXPECT_TRUE(client.cancel("default", later)) << "what starts nothing is done";
  engine.advance(30min);
  EXPECT_EQ(ran, 0);

  client.put_config(R"({"enabled": true})").value();
  EXPECT_TRUE(client.trigger("default", "hourly", {}));
  engine.advance(10s);  // a tick
  EXPECT_EQ(ran, 2) << "the job that waited, and the one that was asked for";
}

TEST_F(LibraryDisabled, ItIsStillSoAfterARestart) {
  const ScratchFolder folder;
  const std::string store = "sqlite:" + (folder.path() / "jobs.db").string();
  {
    TestEngine engine(clock, {.store = store});
    engine.client().put_schedule("default", kHourly).value();
    engine.client().put_config(R"({"enabled": false})").value();
  }
  TestEngine engine(clock, {.store = store});
  EXPECT_EQ(code_of(engine.client().trigger("default", "hourly", {})), ErrorCode::scheduler_disabled);
}

TEST_F(LibraryDisabled, PinnedItHoldsAgainstWhatIsStored) {
  EngineOptions options{.max_concurrency = 2};
  options.pins.enabled = false;
  TestEngine engine(clock, {.engine = options});
  serve(engine);
  engine.client().put_schedule("default", kHourly).value();
  engine.client().put_config(R"({"enabled": true})").value();
  EXPECT_EQ(code_of(engine.client().trigger("default", "hourly", {})), ErrorCode::scheduler_disabled);
  engine.advance(2h);
  EXPECT_EQ(ran, 0);
}

TEST_F(LibraryDisabled, AnEngineThatRunsSaysSoInItsConfiguration) {
  const StorePtr store = open_store("memory:").value();
  Engine engine(*store, {.max_concurrency = 1});
  engine.run_in_background();
  engine.client().put_config(R"({"enabled": false, "max_concurrent_jobs": 7})").value();
  const JsonValue config = JsonValue::parse(engine.config()).value();
  EXPECT_FALSE(config.at("enabled").as_bool(true));
  EXPECT_EQ(config.at("max_concurrent_jobs").as_int(), 7);
  engine.client().enqueue({.type = "work"}).value();
  EXPECT_EQ(engine.count(JobState::queued).value(), 1U);
}

}  // namespace
}  // namespace carillon::test
