// Searching in absolute time is bounded by steps that are counted, not by a clock. (invariant 26)
#include "core/recurrence/absolute_rule.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "core/recurrence/cron.h"
#include "core/recurrence/lowering.h"
#include "core/recurrence/rrule.h"
#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;
using test::local;
using test::utc;
using test::zone;

constexpr std::int64_t kSteps = StepBudget{}.steps;

AbsoluteRule lowered(std::string_view rrule, const Zone& in, std::string_view start = "2026-01-01T00:00:00") {
  return std::get<AbsoluteRule>(lower(test::value_of(parse_rrule(rrule)), local(start), in, {}));
}

UnixSeconds second(std::string_view text) { return std::chrono::floor<seconds>(utc(text)); }

TEST(StepBudget, IsUsedUpStepByStep) {
  StepBudget budget{.steps = 2};
  EXPECT_TRUE(budget.take());
  EXPECT_TRUE(budget.take());
  EXPECT_FALSE(budget.take());
  EXPECT_FALSE(budget.take());
}

TEST(AbsoluteRule, AnOrdinaryRuleTakesAFewStepsHoweverFarItsStartIs) {
  const Zone london = zone("Europe/London");
  for (const std::string_view text :
       {"FREQ=HOURLY", "FREQ=HOURLY;INTERVAL=5", "FREQ=MINUTELY;INTERVAL=15", "FREQ=SECONDLY;INTERVAL=90",
        "FREQ=HOURLY;BYMINUTE=0,30", "FREQ=MINUTELY;BYHOUR=9", "FREQ=HOURLY;BYDAY=MO,FR;BYHOUR=9"}) {
    const AbsoluteRule rule = lowered(text, london);
    for (const std::string_view after :
         {"2026-01-01T00:00:00Z", "2026-03-29T00:59:59Z", "2076-01-01T00:00:00Z", "2425-07-01T00:00:00Z"}) {
      StepBudget budget;
      EXPECT_TRUE(rule.next(second(after), london, budget).has_value()) << text;
      EXPECT_LE(kSteps - budget.steps, 16) << text << " after " << after;
    }
  }
}

TEST(AbsoluteRule, ARuleThatNeverMatchesStopsWithItsBudget) {
  const Zone london = zone("Europe/London");
  for (const std::string_view text :
       {"FREQ=SECONDLY;INTERVAL=2;BYSECOND=1", "FREQ=MINUTELY;INTERVAL=2;BYMINUTE=1,3,5",
        "FREQ=MINUTELY;BYMINUTE=0,1;BYSECOND=0,30;BYSETPOS=3", "FREQ=HOURLY;INTERVAL=24;BYHOUR=5;BYDAY=MO"}) {
    StepBudget budget;
    EXPECT_FALSE(lowered(text, Zone::utc()).next(second("2026-01-01T00:00:00Z"), Zone::utc(), budget).has_value())
        << text;
    EXPECT_GE(budget.steps, -200) << text;
  }
}

TEST(AbsoluteRule, ASmallBudgetEndsTheSearchEarlyNotWrongly) {
  const AbsoluteRule rule = lowered("FREQ=SECONDLY;INTERVAL=86399;BYHOUR=0;BYMINUTE=0;BYSECOND=0", Zone::utc());
  const UnixSeconds after = second("2026-01-01T00:00:00Z");
  StepBudget small{.steps = 1000};
  EXPECT_FALSE(rule.next(after, Zone::utc(), small).has_value());
  StepBudget usual;
  const auto found = rule.next(after, Zone::utc(), usual);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ((*found - after) % (86399s * 86400), 0s);
}

TEST(AbsoluteRule, CountingGivesUpRatherThanTakingForEver) {
  const AbsoluteRule rule = lowered("FREQ=SECONDLY;INTERVAL=2;BYSECOND=0,20,40", Zone::utc());
  StepBudget budget;
  EXPECT_FALSE(
      rule.count(second("2026-01-01T00:00:00Z"), second("2126-01-01T00:00:00Z"), Zone::utc(), budget).has_value());
  StepBudget fresh;
  EXPECT_EQ(rule.count(second("2026-01-01T00:00:00Z"), second("2026-01-01T01:00:00Z"), Zone::utc(), fresh), 180U);
}

TEST(AbsoluteRule, CountingAPlainRuleTakesNoSteps) {
  const Zone london = zone("Europe/London");
  StepBudget budget;
  EXPECT_EQ(lowered("FREQ=SECONDLY", london)
                .count(second("2026-01-01T00:00:00Z"), second("2126-01-01T00:00:00Z"), london, budget),
            36524U * 86400);
  EXPECT_EQ(lowered("FREQ=HOURLY;INTERVAL=5", london)
                .count(second("2026-01-01T00:00:00Z"), second("2026-01-02T00:00:00Z"), london, budget),
            5U);
  EXPECT_EQ(budget.steps, kSteps);
}

TEST(AbsoluteRule, NothingLiesBeforeItsStart) {
  const AbsoluteRule rule = lowered("FREQ=HOURLY", Zone::utc(), "2026-01-01T00:30:00");
  StepBudget budget;
  EXPECT_EQ(rule.next(second("1990-01-01T00:00:00Z"), Zone::utc(), budget), second("2026-01-01T00:30:00Z"));
  EXPECT_EQ(rule.count(second("1990-01-01T00:00:00Z"), second("2026-01-01T01:30:00Z"), Zone::utc(), budget), 1U);
}

TEST(Lowering, WallClockKindsAndAbsoluteOnesPart) {
  const auto is_absolute = [](const RecurrenceRule& rule) {
    return std::holds_alternative<AbsoluteRule>(lower(rule, local("2026-01-01T00:00:00"), Zone::utc(), {}));
  };
  for (const std::string_view text :
       {"FREQ=YEARLY", "FREQ=MONTHLY", "FREQ=WEEKLY", "FREQ=DAILY", "FREQ=DAILY;BYHOUR=0,1,2"}) {
    EXPECT_FALSE(is_absolute(test::value_of(parse_rrule(text)))) << text;
  }
  for (const std::string_view text : {"FREQ=HOURLY", "FREQ=MINUTELY", "FREQ=SECONDLY", "FREQ=HOURLY;BYHOUR=9"}) {
    EXPECT_TRUE(is_absolute(test::value_of(parse_rrule(text)))) << text;
  }
  EXPECT_TRUE(is_absolute(test::value_of(parse_cron("0 */2 * * *"))));
  EXPECT_FALSE(is_absolute(test::value_of(parse_cron("0 2 * * *"))));
}

}  // namespace
}  // namespace carillon
