// What an operator sets for a tenant is what the tenant may have at most.
#include "core/settings/tenant_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string_view>

namespace carillon {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Duration kEngineKeeps = std::chrono::days(30);

const SettingsBefore kBound{.settings = {.max_concurrency = 10, .weight = 5, .retention = std::chrono::days(7)},
                            .bounds = {.max_concurrency = 10, .weight = 5, .retention = std::chrono::days(7)}};
const SettingsBefore kFree;  // the operator has set nothing

TEST(TenantBoundsTest, WhatATenantMaySet) {
  struct Case {
    SettingsBefore before;
    std::string_view body;
    std::string_view refused;  // the bound that is named; "": it is taken
  };
  for (const Case& one : {
           Case{kBound, R"({"max_concurrency":10})", ""},
           Case{kBound, R"({"max_concurrency":3,"weight":1,"retention":"1d"})", ""},
           Case{kBound, R"({"max_concurrency":11})",
                "max_concurrency is 11; the operator lets this tenant have at most 10"},
           Case{kBound, R"({"weight":6})", "weight is 6; the operator lets this tenant have at most 5"},
           Case{kBound, R"({"retention":"8d"})", "retention is 8d; the operator lets this tenant have at most 7d"},
           Case{kBound, R"({"max_concurrency":null,"weight":null,"retention":null})", ""},
           Case{kBound, R"({"timezone":"Europe/Berlin","paused":true})", ""},
           // Nobody has set a bound: a tenant's weight is one, and what it keeps the engine's.
           Case{kFree, R"({"max_concurrency":1000})", ""},
           Case{kFree, R"({"weight":2})", "at most 1"},
           Case{kFree, R"({"retention":"30d"})", ""},
           Case{kFree, R"({"retention":"31d"})", "at most 30d"},
       }) {
    const auto after = put_by_tenant(one.body, one.before, kEngineKeeps);
    if (one.refused.empty()) {
      ASSERT_TRUE(after) << one.body << ": " << after.error().message;
      EXPECT_EQ(after->bounds, one.before.bounds) << one.body;
    } else {
      ASSERT_FALSE(after) << one.body;
      EXPECT_EQ(after.error().code, ErrorCode::invalid_configuration);
      EXPECT_THAT(after.error().message, HasSubstr(one.refused));
      EXPECT_FALSE(after.error().field.empty());
    }
  }
}

TEST(TenantBoundsTest, WhatATenantClearsIsItsBound) {
  const SettingsBefore before{.settings = {.max_concurrency = 3, .weight = 2, .retention = 24h},
                              .bounds = kBound.bounds};
  const auto after = put_by_tenant(R"({"max_concurrency":null,"weight":null,"retention":null})", before, kEngineKeeps);
  ASSERT_TRUE(after);
  const TenantSettings holds = bounded(after->settings, after->bounds, kEngineKeeps);
  EXPECT_EQ(holds.max_concurrency, 10);
  EXPECT_EQ(holds.weight, 5);
  EXPECT_EQ(holds.retention, Duration(std::chrono::days(7)));
}

TEST(TenantBoundsTest, AnOperatorsValuesAreSettingsAndBounds) {
  const auto after = put_by_operator(R"({"max_concurrency":20,"weight":3})", kBound);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->settings.max_concurrency, 20);
  EXPECT_EQ(after->bounds.max_concurrency, 20);
  EXPECT_EQ(after->bounds.weight, 3);
  EXPECT_EQ(after->bounds.retention, kBound.bounds.retention);  // not named
}

TEST(TenantBoundsTest, AnOperatorsNullLiftsABound) {
  const auto after = put_by_operator(R"({"max_concurrency":null,"weight":null,"retention":null})", kBound);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->bounds, TenantBounds{});
  EXPECT_TRUE(put_by_tenant(R"({"max_concurrency":1000})", *after, kEngineKeeps));
}

TEST(TenantBoundsTest, NothingHoldsAboveItsBound) {
  const TenantSettings wants{.max_concurrency = 50, .weight = 9, .retention = std::chrono::days(90)};
  const TenantSettings holds = bounded(wants, kBound.bounds, kEngineKeeps);
  EXPECT_EQ(holds.max_concurrency, 10);
  EXPECT_EQ(holds.weight, 5);
  EXPECT_EQ(holds.retention, Duration(std::chrono::days(7)));
  const TenantSettings free = bounded(wants, {}, kEngineKeeps);
  EXPECT_EQ(free.max_concurrency, 50);
  EXPECT_EQ(free.weight, 1);
  EXPECT_EQ(free.retention, kEngineKeeps);
  EXPECT_EQ(bounded({}, {}, kEngineKeeps), TenantSettings{});
}

TEST(TenantBoundsTest, SettingsOfAnEarlierVersionAreTheirOwnBounds) {
  const TenantSettings old{.max_concurrency = 4, .weight = 3, .retention = std::chrono::days(90)};
  EXPECT_EQ(bounded(old, bounds_of(old), kEngineKeeps), old);
  const SettingsBefore before{.settings = old, .bounds = bounds_of(old)};
  EXPECT_FALSE(put_by_tenant(R"({"max_concurrency":5})", before, kEngineKeeps));
  EXPECT_TRUE(put_by_tenant(R"({"max_concurrency":4,"weight":3,"retention":"90d"})", before, kEngineKeeps));
}

TEST(TenantBoundsTest, WhatIsWrittenIsReadAgain) {
  for (const TenantBounds& bounds : {TenantBounds{}, kBound.bounds}) {
    const auto read = parse_tenant_bounds(write_tenant_bounds(bounds));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, bounds);
  }
  EXPECT_FALSE(parse_tenant_bounds(R"({"timezone":"UTC"})"));
}

}  // namespace
}  // namespace carillon
