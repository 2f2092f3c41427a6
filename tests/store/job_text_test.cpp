#include "store/job_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "store/subject_text.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;

template <typename T>
T any(T low, T high) {
  return *rc::gen::inRange<T>(low, high + 1);
}

bool coin() { return any(0, 1) == 1; }

// Of any bytes that JSON text can hold: control characters and quotes too.
std::string any_text() {
  return *rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::inRange<char>(0x01, 0x7f), rc::gen::elementOf(std::string("\"\\\n"))));
}

Instant any_instant() { return Instant(Duration(any<std::int64_t>(-1'000'000'000'000'000, 1'000'000'000'000'000))); }

RetryPolicy any_retry() {
  switch (any(0, 3)) {
    case 0: return RetryTable{.delays = {Duration(any(0, 1000) * 1ms)}, .jitter = any(0, 100) / 128.0};
    case 1: return RetryExponential{.base = any(1, 1000) * 1s, .jitter = 0.5};
    case 2: return RetryFixed{.delay = any(0, 1000) * 1min};
    default: return RetryNone{};
  }
}

void expect_same(const JobOptions& a, const JobOptions& b) {
  EXPECT_EQ(a.retry.value_or(RetryTable{}), b.retry.value_or(RetryTable{}));
  EXPECT_EQ(a.max_attempts, b.max_attempts);
  EXPECT_EQ(a.timeout, b.timeout);
  EXPECT_EQ(a.lease, b.lease);
  EXPECT_EQ(a.limits, b.limits);
  EXPECT_EQ(a.notifies, b.notifies);
  EXPECT_EQ(a.run_anyway, b.run_anyway);
  EXPECT_EQ(a.on_ambiguous, b.on_ambiguous);
  EXPECT_EQ(a.tags, b.tags);
  EXPECT_EQ(a.meta, b.meta);
  EXPECT_EQ(a.created_by, b.created_by);
  EXPECT_EQ(a.origin, b.origin);
  EXPECT_EQ(a.parent, b.parent);
  EXPECT_EQ(a.idempotency_key, b.idempotency_key);
  EXPECT_EQ(a.unique_until, b.unique_until);
  EXPECT_EQ(a.key, b.key);
}

RC_GTEST_PROP(JobText, OptionsReadBackAsTheyWere, ()) {
  JobOptions options;
  if (coin()) options.retry = any_retry();
  if (coin())
    options.max_attempts = coin() ? std::optional<std::uint32_t>() : std::optional(any<std::uint32_t>(1, 1000));
  if (coin()) options.timeout = Duration(any<std::int64_t>(1, 1'000'000'000'000));
  if (coin()) options.lease = any(1, 86400) * 1s;
  if (coin()) options.limits = {any_text(), "smtp"};
  options.notifies = coin();
  options.run_anyway = coin();
  options.yields = coin();
  options.on_ambiguous = coin() ? OnAmbiguous::hold : OnAmbiguous::retry;
  if (coin()) options.tags = {"a", any_text()};
  if (coin()) options.meta = R"({"x": 1e400,  "y":"\u0000"})";
  options.created_by = any_text();
  options.origin = static_cast<Origin>(any(0, 3));
  if (coin()) options.parent = JobId{any<std::int64_t>(1, INT64_MAX - 1)};
  if (coin()) options.idempotency_key = any_text();
  switch (any(0, 2)) {
    case 0: break;
    case 1: options.unique_until.until = KeyHold::Until::done; break;
    default: options.unique_until = {.until = KeyHold::Until::elapsed, .duration = any(1, 1000) * 1s};
  }
  options.key = any_text();
  const auto again = read_options(write_options(options));
  RC_ASSERT(again.has_value());
  expect_same(*again, options);
}

RC_GTEST_PROP(JobText, DetailReadsBackAsItWas, ()) {
  JobDetail detail;
  detail.losses = any(0U, 5U);
  detail.lost_ahead = coin();
  detail.releases = any(0U, 9U);
  detail.rate_limits = any(0U, 19U);
  detail.reason = any_text();
  if (coin()) detail.last_error = LastError{.code = any_text(), .message = any_text(), .error_class = any_text()};
  detail.deferrals = any(0U, 100U);
  if (coin()) detail.deferred_until = any_instant();
  detail.defer_reason = any_text();
  for (int i = any(0, 3); i > 0; --i) {
    detail.recent_deferrals.push_back(
        {.at = any_instant(), .until = coin() ? std::optional(any_instant()) : std::nullopt, .reason = any_text()});
  }
  detail.cancel_requested = coin();
  detail.progress = any_text();
  detail.output = any_text();
  if (coin()) detail.stderr_text = "warning";
  if (coin()) detail.last_seen_at = any_instant();
  detail.last_end = any_text();
  detail.said = any<std::int64_t>(INT64_MIN, INT64_MAX - 1);
  for (int i = any(0, 3); i > 0; --i) {
    detail.then.push_back(
        {.job = {any<std::int64_t>(1, INT64_MAX - 1)}, .kind = static_cast<KeptFollowUp::Kind>(any(0, 2))});
  }
  detail.lifted_token = any<std::int64_t>(0, INT64_MAX - 1);
  if (coin()) detail.lifted_at = any_instant();
  detail.retried = coin();
  RC_ASSERT((read_detail(write_detail(detail)) == detail));
}

RC_GTEST_PROP(JobText, SubjectStateReadsBackAsItWas, ()) {
  SubjectState state{.last_error = any_text(), .error_count = any(0U, 9U)};
  if (coin()) state.status = coin() ? JobState::done : JobState::cutoff_reached;
  if (coin()) state.last_slot = any_instant();
  if (coin()) state.last_run_at = any_instant();
  if (coin()) state.expected_at = any_instant();
  state.last_status = any_text();
  if (coin()) state.last_checked_at = any_instant();
  if (coin()) state.last_available_at = any_instant();
  state.cadence = any_text();
  SubjectRow row;
  write_subject_state(state, row);
  RC_ASSERT((read_subject_state(row) == state));
}

TEST(JobText, WhatIsAtItsDefaultsIsNotWritten) {
  EXPECT_EQ(write_options({}), "");
  EXPECT_EQ(write_options({.retry = RetryTable{}}), "");
  EXPECT_EQ(write_detail({}), "");
  SubjectRow row{.status = JobState::done, .state = "{}"};
  write_subject_state({}, row);
  EXPECT_EQ(row, SubjectRow{});
}

// An older program must be able to read what a later one wrote.
TEST(JobText, UnknownMembersAreNoError) {
  EXPECT_TRUE(read_options(R"({"notifies":true,"invented_later":{"x":[1]}})")->notifies);
  EXPECT_EQ(read_detail(R"({"losses":2,"invented_later":1})")->losses, 2U);
}

TEST(JobText, WhatIsNoJsonIsADamagedStore) {
  EXPECT_EQ(read_options("{").error().code, ErrorCode::database_error);
  EXPECT_EQ(read_detail("no").error().code, ErrorCode::database_error);
  EXPECT_EQ(read_subject_state(SubjectRow{.state = "["}).error().code, ErrorCode::database_error);
}

}  // namespace
}  // namespace carillon
