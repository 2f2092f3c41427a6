// The log, given to a logger that a program has already.
#include <carillon/log.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>
#include <stdexcept>

#include "library/collected.h"

namespace carillon::test {
namespace {

using ::testing::HasSubstr;

TEST(LibraryLog, ASinkGetsWhatIsWantedWithItsFields) {
  Lines lines;
  Log log(lines.options(LogLevel::info));
  log.write(LogLine(LogLevel::debug, "not wanted"));
  LogLine line(LogLevel::warn, "it is late");
  log.write(line.text("tenant", "acme").number("duration_ms", 12).decimal("ratio", 0.5));
  log.stop();
  ASSERT_EQ(lines.all().size(), 1U);
  const LogLine got = lines.all().front();
  EXPECT_EQ(got.level(), LogLevel::warn);
  EXPECT_EQ(got.message(), "it is late");
  ASSERT_EQ(got.fields().size(), 3U);
  EXPECT_EQ(got.fields()[0].name, "tenant");
  EXPECT_EQ(std::get<std::string>(got.fields()[0].value), "acme");
  EXPECT_EQ(std::get<std::int64_t>(got.fields()[1].value), 12);
  EXPECT_EQ(std::get<double>(got.fields()[2].value), 0.5);
  EXPECT_THAT(got.plain(at("2026-03-03T00:00:00Z")), HasSubstr("WARN  it is late  tenant=acme  duration_ms=12"));
}

TEST(LibraryLog, ASinkThatThrowsLosesThatLineAlone) {
  std::atomic<int> given = 0;
  Log log({.sink = [&](const LogLine& line) {
    ++given;
    if (line.message() == "bad") throw std::runtime_error("no");
  }});
  log.write(LogLine(LogLevel::info, "bad"));
  log.write(LogLine(LogLevel::info, "good"));
  log.stop();
  EXPECT_EQ(given, 2);
  EXPECT_EQ(log.dropped(), 1U);
}

TEST(LibraryLog, NobodyWaitsForASlowSinkAndWhatIsDroppedIsTold) {
  std::binary_semaphore held(0);
  Lines lines;
  std::atomic<bool> first = true;
  Log log({.waiting_max = 3, .sink = [&](const LogLine& line) {
             if (first.exchange(false)) held.acquire();
             lines.take(line);
           }});
  log.write(LogLine(LogLevel::info, "held"));
  while (first) std::this_thread::yield();
  for (int i = 0; i < 10; ++i) log.write(LogLine(LogLevel::info, "more"));
  EXPECT_EQ(log.dropped(), 7U);
  held.release();
  EXPECT_TRUE(lines.wait_for("log lines were dropped"));
  EXPECT_EQ(fields_of(lines.saying("dropped").front()).at("dropped").as_int(), 7);
  EXPECT_EQ(lines.saying("more").size(), 3U);
}

TEST(LibraryLog, EventsAreLinesByTheirGravity) {
  Lines lines;
  Log log(lines.options());
  const auto told = [&](EventBody body) { log_event(log, {.at = {}, .body = std::move(body)}); };
  told(EnqueueIgnored{.job = {.value = 1}, .tenant = "acme", .type = "mail", .reason = "idempotency_key"});
  told(StaleWord{.job = {.value = 1}, .tenant = "acme", .success = true});
  told(StoreFailed{.code = ErrorCode::unavailable, .message = "the disk is gone", .in_a_row = 1});
  told(StoreFailed{.code = ErrorCode::unavailable, .message = "the disk is gone", .in_a_row = kFailuresToWarn});
  told(QueueDepth{.depth = 5});
  log.stop();
  const auto all = lines.all();
  ASSERT_EQ(all.size(), 4U) << "levels are for metrics";
  EXPECT_EQ(all[0].level(), LogLevel::debug);
  EXPECT_EQ(fields_of(all[0]).at("reason").as_string(), "idempotency_key");
  EXPECT_EQ(all[1].level(), LogLevel::debug);
  EXPECT_THAT(all[1].message(), HasSubstr("late success"));
  EXPECT_EQ(all[2].level(), LogLevel::debug) << "a hiccup";
  EXPECT_EQ(all[3].level(), LogLevel::warn) << "one that goes on";
}

}  // namespace
}  // namespace carillon::test
