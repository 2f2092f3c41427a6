#include "server/api/quotas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "support/results.h"

namespace carillon::server {
namespace {

using namespace carillon::test;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr QuotaBook::Clock::time_point kStart{1h};

Quotas quotas(std::string_view text) { return value_of(read_quotas(text)); }

std::optional<Quota> refused(const std::optional<QuotaBook::Refused>& answer) {
  return answer ? std::optional(answer->quota) : std::nullopt;
}

void count(QuotaBook& book, std::string_view tenant, const QuotaBook::Counted& counted) {
  ASSERT_TRUE(book.count(tenant, [&]() -> Result<QuotaBook::Counted> { return counted; }, kStart));
}

TEST(Quotas, WhatIsNotNamedHasItsDefault) {
  const Quotas few = quotas(R"({"hooks": 3, "live_jobs": null})");
  EXPECT_EQ(few.of(Quota::hooks), 3);
  EXPECT_EQ(few.of(Quota::live_jobs), 10'000'000);
  EXPECT_EQ(few.of(Quota::subjects), 20'000'000);
  EXPECT_EQ(few.of(Quota::names), 10'000);
  EXPECT_EQ(few.of(Quota::calls_per_second), std::nullopt);
}

TEST(Quotas, WhatCannotBeIsRefused) {
  for (const std::string_view text : {"[]", "{", R"({"hooks": -1})", R"({"hooks": "3"})", R"({"hooks": 1.5})",
                                      R"({"calls_per_second": 0})", R"({"jobs": 1})", R"({"hooks": 1000000000001})"}) {
    EXPECT_FALSE(read_quotas(text)) << text;
    EXPECT_FALSE(merged_quotas(text, "{}")) << text;
  }
}

TEST(Quotas, FieldsThatAreGivenReplaceAndNullClears) {
  EXPECT_EQ(value_of(merged_quotas(R"({"hooks": 3, "limits": null})", R"({"limits":5,"names":7})")),
            R"({"hooks":3,"names":7})");
  EXPECT_EQ(value_of(merged_quotas("{}", R"({"hooks":3})")), R"({"hooks":3})");
}

TEST(QuotaBook, JobsAreCountedAsTheyAreMade) {
  QuotaBook book;
  book.put("acme", quotas(R"({"live_jobs": 10})"));
  count(book, "acme", {.live_jobs = 4, .subjects = 0, .queues = {}});
  EXPECT_EQ(refused(book.make_jobs("acme", 7, {}, kStart)), Quota::live_jobs) << "all or none";
  EXPECT_EQ(refused(book.make_jobs("acme", 6, {}, kStart)), std::nullopt);
  EXPECT_EQ(refused(book.make_jobs("acme", 1, {}, kStart)), Quota::live_jobs);
  EXPECT_EQ(refused(book.make_jobs("other", 1'000'000, {}, kStart)), std::nullopt);
  // Some have ended.
  EXPECT_THAT(book.to_count(kStart), testing::Contains("acme"));
  count(book, "acme", {.live_jobs = 9, .subjects = 0, .queues = {}});
  EXPECT_EQ(refused(book.make_jobs("acme", 1, {}, kStart)), std::nullopt);
  EXPECT_EQ(refused(book.make_jobs("acme", 1, {}, kStart)), Quota::live_jobs);
}

TEST(QuotaBook, WhatIsMadeWhileTheStoreIsAskedIsNotForgotten) {
  QuotaBook book;
  book.put("acme", quotas(R"({"live_jobs": 10})"));
  ASSERT_TRUE(book.count(
      "acme",
      [&]() -> Result<QuotaBook::Counted> {
        EXPECT_EQ(refused(book.make_jobs("acme", 5, {}, kStart)), std::nullopt);
        return QuotaBook::Counted{.live_jobs = 3, .subjects = 0, .queues = {}};
      },
      kStart));
  EXPECT_EQ(refused(book.make_jobs("acme", 3, {}, kStart)), Quota::live_jobs);
  EXPECT_EQ(refused(book.make_jobs("acme", 2, {}, kStart)), std::nullopt);
}

TEST(QuotaBook, WhoIsFarFromItsQuotasIsNotCountedAgain) {
  QuotaBook book;
  EXPECT_EQ(refused(book.make_jobs("acme", 1, {}, kStart)), std::nullopt);
  EXPECT_THAT(book.to_count(kStart), ElementsAre("acme"));
  count(book, "acme", {});
  EXPECT_EQ(refused(book.make_jobs("acme", 1'000'000, {}, kStart)), std::nullopt);
  EXPECT_THAT(book.to_count(kStart), IsEmpty());
  EXPECT_EQ(refused(book.make_jobs("acme", 8'500'000, {}, kStart)), std::nullopt);
  EXPECT_THAT(book.to_count(kStart), ElementsAre("acme"));
}

TEST(QuotaBook, ACountOfSomebodyWhoMakesJobsHoldsForAWhile) {
  QuotaBook book;
  count(book, "idle", {});
  count(book, "acme", {});
  EXPECT_EQ(refused(book.make_jobs("acme", 1, {}, kStart)), std::nullopt);
  EXPECT_THAT(book.to_count(kStart + 30s), IsEmpty());
  EXPECT_THAT(book.to_count(kStart + 31s), ElementsAre("acme"));
}

TEST(QuotaBook, EachHasItsTurnToBeCounted) {
  QuotaBook book;
  EXPECT_THAT(book.next_in_turn(), IsEmpty());
  for (const std::string_view name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}) count(book, name, {});
  EXPECT_THAT(book.next_in_turn(), ElementsAre("a", "b", "c", "d", "e", "f", "g", "h"));
  EXPECT_THAT(book.next_in_turn(), ElementsAre("i", "j", "a", "b", "c", "d", "e", "f"));
}

TEST(QuotaBook, RoomIsKnownOnceItWasCounted) {
  QuotaBook book;
  book.put("acme", quotas(R"({"live_jobs": 10})"));
  EXPECT_EQ(book.room_for_jobs("acme"), 0) << "what it has is not known yet";
  count(book, "acme", {.live_jobs = 4, .subjects = 0, .queues = {}});
  EXPECT_EQ(book.room_for_jobs("acme"), 6);
  book.made_jobs("acme", 9);
  EXPECT_EQ(book.room_for_jobs("acme"), 0);
  EXPECT_THAT(book.to_count(kStart), ElementsAre("acme"));
  count(book, "acme", {.live_jobs = 2, .subjects = 0, .queues = {}});
  EXPECT_EQ(book.room_for_jobs("acme"), 8);
}

TEST(QuotaBook, OfManyAsManyAsThereIsRoomForAreCounted) {
  QuotaBook book;
  book.put("acme", quotas(R"({"live_jobs": 10})"));
  count(book, "acme", {.live_jobs = 4, .subjects = 0, .queues = {}});
  EXPECT_EQ(refused(book.make_jobs("acme", 8, {}, kStart)), Quota::live_jobs);
  EXPECT_EQ(book.make_as_many("acme", 8), 6U);
  EXPECT_EQ(book.make_as_many("acme", 8), 0U);
  book.made_jobs("acme", -2);
  EXPECT_EQ(book.make_as_many("acme", 1), 1U);
  EXPECT_EQ(book.make_as_many("other", 8), 8U);
}

// The engine keeps a line for each combination, which a few names make many of.
TEST(QuotaBook, NamesAreCombinedInSoManyWays) {
  QuotaBook book;
  book.put("acme", quotas(R"({"names": 5})"));
  const auto made = [&](std::size_t kind, QuotaBook::Clock::time_point now) {
    const std::array names{QuotaBook::Name{.queue = "q", .type = "t", .kind = kind}};
    return refused(book.make_jobs("acme", 1, names, now));
  };
  for (std::size_t kind = 1; kind <= 50; ++kind) ASSERT_EQ(made(kind, kStart), std::nullopt) << kind;
  EXPECT_EQ(made(51, kStart), Quota::names);
  EXPECT_EQ(made(50, kStart), std::nullopt) << "it is known";
  EXPECT_EQ(made(7, kStart + 2h), std::nullopt);
  EXPECT_EQ(made(51, kStart + 25h), std::nullopt) << "most were not used for a day";
}

TEST(QuotaBook, NamesAloneNeedNoRoomForJobs) {
  QuotaBook book;
  book.put("acme", quotas(R"({"live_jobs": 0, "names": 1})"));
  const auto name = [&](std::string_view queue, std::string_view type) {
    return refused(book.make_jobs("acme", 0, std::array{QuotaBook::Name{.queue = queue, .type = type}}, kStart));
  };
  EXPECT_EQ(name("", "a"), std::nullopt);
  EXPECT_EQ(name("q", ""), Quota::names);
}

TEST(QuotaBook, AQueueThatIsThereIsInUse) {
  QuotaBook book;
  book.put("acme", quotas(R"({"names": 1})"));
  const QuotaBook::Counted one{.live_jobs = 0, .subjects = 0, .queues = {"kept"}};
  count(book, "acme", one);
  ASSERT_TRUE(book.count("acme", [&]() -> Result<QuotaBook::Counted> { return one; }, kStart + 25h));
  EXPECT_EQ(refused(book.make_jobs("acme", 0, std::array{QuotaBook::Name{.queue = "q", .type = {}}}, kStart + 26h)),
            Quota::names);
}

TEST(QuotaBook, NamesThatWereNotUsedForADayAreForgotten) {
  QuotaBook book;
  book.put("acme", quotas(R"({"names": 3})"));
  const auto make = [&](std::string_view queue, std::string_view type, QuotaBook::Clock::time_point at) {
    return refused(book.make_jobs("acme", 1, std::array{QuotaBook::Name{.queue = queue, .type = type}}, at));
  };
  EXPECT_EQ(make("default", "a", kStart), std::nullopt);
  EXPECT_EQ(make("default", "b", kStart), std::nullopt);
  EXPECT_EQ(make("default", "c", kStart), Quota::names);
  EXPECT_EQ(make("default", "a", kStart + 23h), std::nullopt) << "one that is known is no other";
  EXPECT_EQ(book.names("acme"), 3);
  EXPECT_EQ(make("default", "c", kStart + 25h), std::nullopt) << "b is forgotten";
  EXPECT_EQ(make("default", "b", kStart + 25h), Quota::names);
}

TEST(QuotaBook, CallsAreCountedByTheSecond) {
  QuotaBook book;
  EXPECT_EQ(refused(book.call("acme", kStart)), std::nullopt);
  book.put("acme", quotas(R"({"calls_per_second": 2})"));
  EXPECT_EQ(refused(book.call("acme", kStart)), std::nullopt);
  EXPECT_EQ(refused(book.call("acme", kStart)), std::nullopt);
  const auto third = book.call("acme", kStart);
  ASSERT_EQ(refused(third), Quota::calls_per_second);
  EXPECT_EQ(third->wait, 500ms);
  EXPECT_EQ(refused(book.call("acme", kStart + 500ms)), std::nullopt);
  EXPECT_EQ(refused(book.call("acme", kStart + 500ms)), Quota::calls_per_second);
  // A pause saves up a second's worth and no more.
  EXPECT_EQ(refused(book.call("acme", kStart + 1h)), std::nullopt);
  EXPECT_EQ(refused(book.call("acme", kStart + 1h)), std::nullopt);
  EXPECT_EQ(refused(book.call("acme", kStart + 1h)), Quota::calls_per_second);
}

TEST(QuotaBook, SubjectsOfATenantThatWasNotCountedHaveNoRoomYet) {
  QuotaBook book;
  book.put("acme", quotas(R"({"subjects": 5})"));
  EXPECT_FALSE(book.has_room_for_subjects("acme", 1));
  count(book, "acme", {.live_jobs = 0, .subjects = 3, .queues = {}});
  EXPECT_TRUE(book.has_room_for_subjects("acme", 2));
  EXPECT_FALSE(book.has_room_for_subjects("acme", 3));
  book.made_subjects("acme", 2);
  EXPECT_FALSE(book.has_room_for_subjects("acme", 1));
}

TEST(QuotaBook, ATenantThatIsRemovedStartsAnew) {
  QuotaBook book;
  book.put("acme", quotas(R"({"live_jobs": 0})"));
  EXPECT_EQ(refused(book.make_jobs("acme", 1, {}, kStart)), Quota::live_jobs);
  book.remove("acme");
  EXPECT_EQ(refused(book.make_jobs("acme", 1, {}, kStart)), std::nullopt);
}

}  // namespace
}  // namespace carillon::server
