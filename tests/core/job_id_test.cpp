#include "core/jobs/job_id.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::utc;

JobId any_id() { return JobId{*rc::gen::inRange<std::int64_t>(1, INT64_MAX)}; }

RC_GTEST_PROP(JobIdProperty, TheTextReadsBackAsTheSameId, ()) {
  const JobId id = any_id();
  RC_ASSERT(parse_job_id(format_job_id(id)) == std::optional(id));
}

RC_GTEST_PROP(JobIdProperty, TextsSortAsIdsDo, ()) {
  const JobId a = any_id();
  const JobId b = any_id();
  RC_ASSERT((a < b) == (format_job_id(a) < format_job_id(b)));
}

// A look-up by a UUID from elsewhere must not find a job by chance. (invariant 28)
RC_GTEST_PROP(JobIdProperty, ATextWithAnyOtherDigitIsNoId, ()) {
  std::string text = format_job_id(any_id());
  const auto position =
      *rc::gen::suchThat(rc::gen::inRange<std::size_t>(0, text.size()), [&](std::size_t i) { return text[i] != '-'; });
  const char digit = *rc::gen::suchThat(rc::gen::elementOf(std::string("0123456789abcdef")),
                                        [&](char c) { return c != text[position]; });
  text[position] = digit;
  RC_ASSERT(!parse_job_id(text));
}

TEST(JobId, IsAUuidOfVersion7WithTheTimeInFront) {
  JobIdSource source(3);
  const Instant at = utc("2026-03-29T01:00:00.123Z");
  const JobId id = source.next(at);
  const std::string text = format_job_id(id);
  EXPECT_EQ(text.size(), 36U);
  EXPECT_EQ(text[14], '7');
  EXPECT_NE(std::string("89ab").find(text[19]), std::string::npos);
  EXPECT_EQ(made_at(id), at);
  const std::string hex = text.substr(0, 8) + text.substr(9, 4);
  EXPECT_EQ(std::stoll(hex, nullptr, 16),
            std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count());
}

TEST(JobId, UpperCaseReadsAsLowerCase) {
  const std::string text = format_job_id(JobIdSource(1).next(utc("2026-01-01T00:00:00Z")));
  std::string upper = text;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_EQ(parse_job_id(upper), parse_job_id(text));
}

TEST(JobId, WhatIsNoUuidIsNoId) {
  for (const char* text :
       {"", "0", "null", "019b76da-a800-7000-8000-00000000000", "019b76da-a800-7000-8000-0000000000000",
        "019b76daa800-7000-8000-0000000000000", "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff", "019b76da-a800-7000-8000-00000000000g"}) {
    EXPECT_FALSE(parse_job_id(text)) << text;
  }
}

TEST(JobIdSource, EachIsHigherThanTheLastWhateverTheClockDoes) {
  JobIdSource source(7);
  Instant now = utc("2026-01-01T00:00:00Z");
  JobId last;
  for (int i = 0; i < 100'000; ++i) {
    if (i % 1000 == 0) now -= 1h;
    const JobId id = source.next(now);
    ASSERT_GT(id, last);
    last = id;
  }
  // 100,000 in what the clock calls less than an hour: ten a millisecond would do, and it ran at most 13 ahead.
  EXPECT_LE(made_at(last) - utc("2026-01-01T00:00:00Z"), 13ms);
}

TEST(JobIdSource, GoesOnAboveWhatIsStoredAlready) {
  JobIdSource before(0);
  const JobId stored = before.next(utc("2026-06-01T00:00:00Z"));
  JobIdSource after_restart(0, stored);
  EXPECT_GT(after_restart.next(utc("2026-01-01T00:00:00Z")), stored);  // the clock was set back meanwhile
}

TEST(JobIdSource, NodesNeverChooseTheSame) {
  std::set<JobId> seen;
  for (const int node : {0, 1, 255}) {
    JobIdSource source(static_cast<std::uint8_t>(node));
    for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(seen.insert(source.next(utc("2026-01-01T00:00:00Z"))).second);
  }
}

TEST(JobIdSource, AnIdOfAnotherNodeInTheSameMillisecondIsNotRepeated) {
  const Instant now = utc("2026-01-01T00:00:00Z");
  const JobId foreign = JobIdSource(9).next(now);
  JobIdSource ours(3, foreign);
  const JobId id = ours.next(now);
  EXPECT_GT(id, foreign);
  EXPECT_EQ(made_at(id), now + 1ms);
}

TEST(JobId, TheFirstOfAnInstantIsTheBoundOfWhatWasMadeThen) {
  JobIdSource source(0);
  const JobId id = source.next(utc("2026-01-01T00:00:00.500Z"));
  EXPECT_LE(first_job_id_at(utc("2026-01-01T00:00:00.500Z")), id);
  EXPECT_GT(first_job_id_at(utc("2026-01-01T00:00:00.501Z")), id);
  EXPECT_GT(first_job_id_at(utc("2026-01-01T00:00:00.500001Z")), id);
  EXPECT_EQ(first_job_id_at(utc("1999-01-01T00:00:00Z")), JobId{});
}

}  // namespace
}  // namespace carillon
