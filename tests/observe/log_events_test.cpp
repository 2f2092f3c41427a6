#include <carillon/log.h>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <optional>

#include "base/json.h"
#include "support/results.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::value_of;
using ::testing::HasSubstr;

const JobId kJob{.value = 1'632'087'572'480'000};

// The line that a log of this level makes of an event; nothing if it makes none.
std::optional<Json> line_of(LogLevel level, EventBody body) {
  std::FILE* const file = std::tmpfile();
  {
    Log log({.level = level, .format = LogFormat::json, .fd = fileno(file)});
    log_event(log, {.at = {}, .body = std::move(body)});
  }
  std::rewind(file);
  std::array<char, 8192> bytes{};
  const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  if (got == 0) return std::nullopt;
  return value_of(parse_json(std::string_view(bytes.data(), got)));
}

std::string level_of(const EventBody& body) {
  const auto line = line_of(LogLevel::debug, body);
  return line ? line->find("level")->text : "none";
}

TEST(LogEvents, AnAttemptIsToldAtDebugWithAllThatIsKnownOfIt) {
  const JobStopped stopped{.job = kJob,
                           .tenant = "acme",
                           .type = "mail",
                           .attempt = 2,
                           .duration = 1500ms,
                           .result = AttemptResult::error,
                           .error_class = "req",
                           .error = "connection refused"};
  const auto line = line_of(LogLevel::debug, stopped);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->find("level")->text, "debug");
  EXPECT_EQ(line->find("msg")->text, "attempt failed");
  EXPECT_EQ(line->find("tenant")->text, "acme");
  EXPECT_EQ(line->find("job_id")->text, format_job_id(kJob));
  EXPECT_EQ(line->find("type")->text, "mail");
  EXPECT_EQ(line->find("attempt")->text, "2");
  EXPECT_EQ(line->find("duration_ms")->text, "1500");
  EXPECT_EQ(line->find("err_code")->text, "req");
  EXPECT_EQ(line->find("error")->text, "connection refused");
  EXPECT_FALSE(line_of(LogLevel::info, stopped));
}

TEST(LogEvents, AnIgnoredEnqueueSaysWhy) {
  const auto line =
      line_of(LogLevel::debug, EnqueueIgnored{.job = kJob, .tenant = "a", .type = "t", .reason = "idempotency_key"});
  ASSERT_TRUE(line);
  EXPECT_THAT(line->find("msg")->text, HasSubstr("deduplicated"));
  EXPECT_EQ(line->find("reason")->text, "idempotency_key");
}

TEST(LogEvents, LateWordsAreToldAtDebug) {
  const auto late = line_of(LogLevel::debug, StaleWord{.job = kJob, .tenant = "a", .success = true});
  ASSERT_TRUE(late);
  EXPECT_THAT(late->find("msg")->text, HasSubstr("late success"));
  EXPECT_EQ(late->find("err_code")->text, "stale_token");
  EXPECT_EQ(level_of(StaleWord{.job = kJob, .tenant = "a", .success = false}), "debug");
}

TEST(LogEvents, AStoreThatGoesOnFailingIsAWarningAndAHiccupIsNot) {
  EXPECT_EQ(level_of(StoreFailed{.message = "no space", .in_a_row = 1}), "debug");
  EXPECT_EQ(level_of(StoreFailed{.message = "no space", .in_a_row = kFailuresToWarn}), "warn");
  EXPECT_EQ(level_of(StoreFailed{.message = "no space", .in_a_row = kFailuresToWarn + 1}), "debug");
  EXPECT_EQ(level_of(StoreFailed{.message = "no space", .in_a_row = 2 * kFailuresToWarnAgain}), "warn");
  EXPECT_EQ(level_of(StoreRecovered{.failures = 1}), "debug");
  EXPECT_EQ(level_of(StoreRecovered{.failures = kFailuresToWarn}), "info");
  const auto line = line_of(
      LogLevel::warn, StoreFailed{.code = ErrorCode::store_full, .message = "no space", .in_a_row = kFailuresToWarn});
  ASSERT_TRUE(line);
  EXPECT_THAT(line->find("msg")->text, HasSubstr("no space"));
  EXPECT_EQ(line->find("err_code")->text, "store_full");
}

TEST(LogEvents, WorkersThatAreGoneAreAWarning) {
  EXPECT_EQ(level_of(LeaseLost{.job = kJob, .tenant = "a", .worker = "w"}), "warn");
  EXPECT_EQ(level_of(HandlerAbandoned{.job = kJob, .tenant = "a", .type = "t"}), "warn");
}

TEST(LogEvents, ATickThatLookedAtNothingIsNoLine) {
  EXPECT_EQ(level_of(TickStopped{.duration = 1ms}), "none");
  EXPECT_EQ(level_of(TickStopped{.duration = 1ms, .users_scanned = 1}), "debug");
  EXPECT_EQ(level_of(TickStopped{.duration = 1ms, .cutoff_finalized = 1}), "debug");
}

TEST(LogEvents, LevelsAreForMetrics) {
  EXPECT_EQ(level_of(QueueDepth{.depth = 3}), "none");
  EXPECT_EQ(level_of(InFlight{.in_flight = 3}), "none");
}

TEST(LogEvents, NothingAboveDebugIsToldOfWhatIsEveryday) {
  const Instant at = value_of(parse_instant("2026-03-02T08:00:00Z"));
  for (const EventBody& body : std::vector<EventBody>{
           TickStopped{.users_scanned = 1}, JobPicked{.job = kJob}, JobChanged{.job = kJob, .state = JobState::done},
           Deferred{.job = kJob, .reason = "quiet_hours", .until = at}, RateLimited{.job = kJob, .until = at},
           Missed{.first = at}, Finalized{.job = kJob, .slot = at}, JobStopped{.job = kJob}}) {
    EXPECT_EQ(level_of(body), "debug");
    EXPECT_FALSE(line_of(LogLevel::info, body));
  }
}

}  // namespace
}  // namespace carillon
