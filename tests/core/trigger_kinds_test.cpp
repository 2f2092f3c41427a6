// Reading the triggers of deliveries, windows and adaptive checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/times.h"
#include "core/triggers/preview.h"
#include "core/triggers/trigger.h"
#include "core/triggers/trigger_kind.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::error_of;
using test::utc;
using test::value_of;
using testing::ElementsAre;
using testing::HasSubstr;

Result<Trigger> read(std::string_view json) {
  const Json root = value_of(parse_json(json));
  return parse_trigger_json(json, root, "trigger");
}

template <typename T>
T trigger_of(std::string_view json) {
  return std::get<T>(value_of(read(json)));
}

TEST(Trigger, ADeliveryHasItsDefaults) {
  const auto trigger = trigger_of<DeliveryTrigger>(R"({"kind": "delivery", "due": "08:00"})");
  EXPECT_EQ(trigger.due, TimeOfDay{28800});
  EXPECT_EQ(trigger.window, 60min);
  EXPECT_EQ(trigger.retry_delay, 10min);
  EXPECT_FALSE(trigger.spread);
  const auto told = trigger_of<DeliveryTrigger>(
      R"({"kind": "delivery", "due": "00:30", "window": "19h59m", "retry_delay": "5m", "spread": true})");
  EXPECT_EQ(told.window, 19h + 59min);
  EXPECT_EQ(told.retry_delay, 5min);
  EXPECT_TRUE(told.spread);
}

TEST(Trigger, WindowsHaveTheirDefaults) {
  const auto trigger = trigger_of<WindowsTrigger>(R"({"kind": "windows", "interval": "1h"})");
  EXPECT_EQ(trigger.interval, 1h);
  EXPECT_EQ(trigger.lag, 1min);
  EXPECT_EQ(trigger.max_backfill, std::nullopt) << "the configuration's";
  EXPECT_EQ(trigger.max_age, std::nullopt);
  EXPECT_EQ(trigger.mode, "");
  const auto told = trigger_of<WindowsTrigger>(
      R"({"kind": "windows", "interval": "1h", "lag": "0s", "max_backfill": 3, "max_age": "2h", "mode": "full"})");
  EXPECT_EQ(told.lag, 0s);
  EXPECT_EQ(told.max_backfill, 3U);
  EXPECT_EQ(told.max_age, 2h);
  EXPECT_EQ(told.mode, "full");
}

TEST(Trigger, AnAdaptiveOneHasBandsAndPairs) {
  const auto trigger = trigger_of<AdaptiveTrigger>(
      R"({"kind": "adaptive", "bands": [{"within": "24h", "every": "10m"}, {"within": "7d", "every": ["50m", "60m"]}],
          "otherwise": ["4h", "6h"], "floor": "1m", "ceiling": "12h"})");
  ASSERT_EQ(trigger.bands.size(), 2U);
  EXPECT_EQ(trigger.bands[0].within, 24h);
  EXPECT_EQ(trigger.bands[0].every, (CheckSpan{.min = 10min, .max = 10min}));
  EXPECT_EQ(trigger.bands[1].every, (CheckSpan{.min = 50min, .max = 60min}));
  EXPECT_EQ(trigger.otherwise, (CheckSpan{.min = 4h, .max = 6h}));
  EXPECT_EQ(trigger.floor, 1min);
  EXPECT_EQ(trigger.ceiling, 12h);
  EXPECT_TRUE(trigger_of<AdaptiveTrigger>(R"({"kind": "adaptive", "otherwise": "1h"})").bands.empty());
}

TEST(Trigger, WhatCannotWorkIsRefusedWithItsPlace) {
  const auto message = [](std::string_view json) {
    const Error error = error_of(read(json));
    EXPECT_EQ(error.code, ErrorCode::invalid_configuration) << error.message;
    return error.message;
  };
  EXPECT_THAT(message(R"({"kind": "delivery", "due": "08:00", "window": "20h"})"), HasSubstr("trigger.window"));
  EXPECT_THAT(message(R"({"kind": "delivery", "due": "08:00", "window": "0s"})"), HasSubstr("trigger.window"));
  EXPECT_THAT(message(R"({"kind": "delivery", "due": "08:00", "retry_delay": "0s"})"), HasSubstr("retry_delay"));
  EXPECT_THAT(message(R"({"kind": "windows", "interval": "0s"})"), HasSubstr("trigger.interval"));
  EXPECT_THAT(message(R"({"kind": "windows", "interval": "1h", "lag": "5m", "max_age": "5m"})"),
              HasSubstr("longer than the lag of 5m"));
  EXPECT_THAT(message(R"({"kind": "adaptive", "otherwise": ["6h", "4h"]})"), HasSubstr("reversed"));
  EXPECT_THAT(message(R"({"kind": "adaptive", "otherwise": "0s"})"), HasSubstr("trigger.otherwise"));
  EXPECT_THAT(message(R"({"kind": "adaptive", "otherwise": "1h", "floor": "2m", "ceiling": "1m"})"),
              HasSubstr("more than the ceiling of 1m"));
  EXPECT_THAT(message(R"({"kind": "adaptive", "otherwise": "1h",
                          "bands": [{"within": "2h", "every": "1m"}, {"within": "2h", "every": "2m"}]})"),
              HasSubstr("trigger.bands[1].within"));
}

TEST(Trigger, WhatCannotBeReadIsRefusedWithItsPlace) {
  const auto message = [](std::string_view json) {
    const Error error = error_of(read(json));
    EXPECT_EQ(error.code, ErrorCode::invalid_request) << error.message;
    return error.message;
  };
  EXPECT_THAT(message(R"({"kind": "delivery"})"), HasSubstr("due"));
  EXPECT_THAT(message(R"({"kind": "delivery", "due": "24:00"})"), HasSubstr("trigger.due"));
  EXPECT_THAT(message(R"({"kind": "delivery", "due": "08:00", "spread": 1})"), HasSubstr("spread"));
  EXPECT_THAT(message(R"({"kind": "windows"})"), HasSubstr("interval"));
  EXPECT_THAT(message(R"({"kind": "windows", "interval": "1h", "max_backfill": 0})"), HasSubstr("max_backfill"));
  EXPECT_THAT(message(R"({"kind": "windows", "interval": "1h", "mode": ""})"), HasSubstr("mode"));
  EXPECT_THAT(message(R"({"kind": "adaptive"})"), HasSubstr("otherwise"));
  EXPECT_THAT(message(R"({"kind": "adaptive", "otherwise": ["1h"]})"), HasSubstr("a pair"));
  EXPECT_THAT(message(R"({"kind": "adaptive", "otherwise": "1h", "bands": [1]})"), HasSubstr("trigger.bands[0]"));
  EXPECT_THAT(message(R"({"kind": "adaptive", "otherwise": "1h", "bands": [{"within": "1h"}]})"), HasSubstr("every"));
  EXPECT_THAT(message(R"({"kind": "delivery", "due": "08:00", "at": "09:00"})"), HasSubstr("unknown field"));
}

TEST(Trigger, DeliveriesAndWindowsHaveAShortForm) {
  EXPECT_EQ(std::get<DeliveryTrigger>(value_of(parse_trigger_text("delivery:08:30"))).due, TimeOfDay{30600});
  EXPECT_EQ(std::get<WindowsTrigger>(value_of(parse_trigger_text("windows:2h"))).interval, 2h);
  EXPECT_FALSE(parse_trigger_text("delivery:8").has_value());
  EXPECT_FALSE(parse_trigger_text("windows:0s").has_value());
  EXPECT_EQ(kind_of(value_of(parse_trigger_text("windows:2h"))).name, "windows");
}

// ---- Previews ----------------------------------------------------------------------------------------------------

std::vector<std::string> previewed(std::string_view json, const test::Setting& setting, std::string_view from,
                                   std::size_t count) {
  const Timetable::Options options = test::options_of(setting);
  std::vector<std::string> lines;
  for (const PreviewItem& item : value_of(preview(value_of(read(json)), options, utc(from), count))) {
    lines.push_back(to_json(item, options.zone));
    EXPECT_TRUE(parse_json(lines.back()).has_value()) << lines.back();
  }
  return lines;
}

TEST(Preview, OfADeliveryShowsStartDayAndCutoffAndWhatAChangeDid) {
  EXPECT_THAT(
      previewed(R"({"kind": "delivery", "due": "01:30"})", {.zone = "Europe/London"}, "2026-03-28T12:00:00Z", 2),
      ElementsAre(
          R"({"at": "2026-03-29T00:30:00.000Z", "local": "2026-03-29T00:30:00+00:00", "note": "gap_shifted", "day": "2026-03-29", "cutoff": "2026-03-29T01:30:00.000Z"})",
          R"({"at": "2026-03-29T23:30:00.000Z", "local": "2026-03-30T00:30:00+01:00", "note": null, "day": "2026-03-30", "cutoff": "2026-03-30T00:30:00.000Z"})"));
}

TEST(Preview, OfADeliveryShowsADayThatIsSkipped) {
  EXPECT_THAT(
      previewed(R"({"kind": "delivery", "due": "01:30"})", {.zone = "Europe/London", .dst = {.gap = DstGap::skip}},
                "2026-03-28T00:00:00Z", 3)
          .at(1),
      R"({"at": null, "local": "2026-03-29T01:30:00", "note": "gap_skipped", "day": "2026-03-29", "cutoff": null})");
}

TEST(Preview, OfWindowsShowsEachWindowAndWhenItIsDue) {
  EXPECT_THAT(
      previewed(R"({"kind": "windows", "interval": "1h"})", {}, "2026-01-01T10:20:30Z", 2),
      ElementsAre(
          R"({"at": "2026-01-01T10:21:00.000Z", "local": "2026-01-01T10:21:00+00:00", "note": null, "window_start": "2026-01-01T09:20:00.000Z", "window_end": "2026-01-01T10:20:00.000Z"})",
          R"({"at": "2026-01-01T11:21:00.000Z", "local": "2026-01-01T11:21:00+00:00", "note": null, "window_start": "2026-01-01T10:20:00.000Z", "window_end": "2026-01-01T11:20:00.000Z"})"));
}

TEST(Preview, OfChecksShowsThemInOrderAndAsManyAsAskedFor) {
  const auto items = value_of(preview(value_of(read(R"({"kind": "adaptive", "otherwise": ["4h", "6h"]})")),
                                      test::options_of({}), utc("2026-01-01T00:00:00Z"), 50));
  ASSERT_EQ(items.size(), 50U);
  for (std::size_t i = 1; i < items.size(); ++i) {
    EXPECT_GE(*items[i].at, *items[i - 1].at + 4h);
    EXPECT_LE(*items[i].at, *items[i - 1].at + 6h);
  }
}

TEST(Preview, RefusesWhatHasNoTimesOrCannotWork) {
  const auto options = test::options_of({.dst = {.overlap = DstOverlap::both}});
  EXPECT_EQ(error_of(preview(value_of(parse_trigger_text("delivery:08:00")), options, {}, 1)).code,
            ErrorCode::invalid_configuration);
  EXPECT_EQ(error_of(preview(value_of(parse_trigger_text("after:other")), options, {}, 1)).code,
            ErrorCode::invalid_configuration);
  EXPECT_EQ(value_of(preview(value_of(parse_trigger_text("daily:08:00")), options, {}, 3)).size(), 3U);
}

}  // namespace
}  // namespace carillon
