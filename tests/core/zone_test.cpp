#include "core/time/zone.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "core/random_triggers.h"
#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;
using std::chrono::seconds;
using test::error_of;
using test::local;
using test::text_of;
using test::utc;
using test::zone;
using Kind = Zone::Mapping::Kind;

// Taken from Python's zoneinfo.
TEST(Zone, KnowsItsOffsets) {
  struct Row {
    std::string_view zone;
    std::string_view at;
    int offset;
  };
  const std::vector<Row> rows{
      {"Europe/London", "1847-12-01T00:00:00Z", -75},         {"Europe/London", "1941-06-01T00:00:00Z", 7200},
      {"Europe/London", "1970-06-01T00:00:00Z", 3600},        {"Europe/London", "2026-03-29T00:59:59Z", 0},
      {"Europe/London", "2026-03-29T01:00:00Z", 3600},        {"Europe/London", "2026-10-25T00:59:59Z", 3600},
      {"Europe/London", "2026-10-25T01:00:00Z", 0},           {"Europe/London", "2500-01-01T00:00:00Z", 0},
      {"Europe/London", "2500-07-01T00:00:00Z", 3600},        {"Europe/London", "9999-07-01T00:00:00Z", 3600},
      {"America/New_York", "2026-03-08T06:59:59Z", -18000},   {"America/New_York", "2026-03-08T07:00:00Z", -14400},
      {"America/New_York", "2026-11-01T05:59:59Z", -14400},   {"America/New_York", "2026-11-01T06:00:00Z", -18000},
      {"America/New_York", "2437-07-01T00:00:00Z", -14400},   {"America/New_York", "2837-07-01T00:00:00Z", -14400},
      {"America/New_York", "2837-12-01T00:00:00Z", -18000},   {"Australia/Lord_Howe", "2026-04-04T14:59:59Z", 39600},
      {"Australia/Lord_Howe", "2026-04-04T15:00:00Z", 37800}, {"Australia/Lord_Howe", "2026-10-03T15:29:59Z", 37800},
      {"Australia/Lord_Howe", "2026-10-03T15:30:00Z", 39600}, {"Australia/Lord_Howe", "3000-01-01T00:00:00Z", 39600},
      {"Pacific/Chatham", "2026-04-04T13:59:59Z", 49500},     {"Pacific/Chatham", "2026-04-04T14:00:00Z", 45900},
      {"Pacific/Chatham", "2026-09-26T13:59:59Z", 45900},     {"Pacific/Chatham", "2026-09-26T14:00:00Z", 49500},
      {"Antarctica/Troll", "2026-03-29T00:59:59Z", 0},        {"Antarctica/Troll", "2026-03-29T01:00:00Z", 7200},
      {"Antarctica/Troll", "2026-10-25T00:59:59Z", 7200},     {"Antarctica/Troll", "2026-10-25T01:00:00Z", 0},
      {"America/Santiago", "2026-04-05T02:59:59Z", -10800},   {"America/Santiago", "2026-04-05T03:00:00Z", -14400},
      {"America/Santiago", "2026-09-06T03:59:59Z", -14400},   {"America/Santiago", "2026-09-06T04:00:00Z", -10800},
      {"Africa/Cairo", "2024-04-25T21:59:59Z", 7200},         {"Africa/Cairo", "2024-04-25T22:00:00Z", 10800},
      {"Africa/Cairo", "2024-10-31T20:59:59Z", 10800},        {"Africa/Cairo", "2024-10-31T21:00:00Z", 7200},
      {"Africa/Casablanca", "2024-03-10T01:59:59Z", 3600},    {"Africa/Casablanca", "2024-03-10T02:00:00Z", 0},
      {"Africa/Casablanca", "2024-04-14T01:59:59Z", 0},       {"Africa/Casablanca", "2024-04-14T02:00:00Z", 3600},
      {"Europe/Dublin", "2026-01-01T00:00:00Z", 0},           {"Europe/Dublin", "2026-07-01T00:00:00Z", 3600},
      {"Pacific/Apia", "2011-12-30T09:59:59Z", -36000},       {"Pacific/Apia", "2011-12-30T10:00:00Z", 50400},
      {"Asia/Kolkata", "2026-01-01T00:00:00Z", 19800},        {"Asia/Kolkata", "9000-01-01T00:00:00Z", 19800},
      {"America/Nuuk", "2026-03-29T00:59:59Z", -7200},        {"America/Nuuk", "2026-03-29T01:00:00Z", -3600},
      {"America/Nuuk", "2026-10-25T00:59:59Z", -3600},        {"America/Nuuk", "2026-10-25T01:00:00Z", -7200},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(zone(row.zone).offset_at(utc(row.at)), seconds(row.offset)) << row.zone << " " << row.at;
  }
}

TEST(Zone, IsLoadedByAnyNameOfTheDatabase) {
  for (const std::string_view name :
       {"UTC", "Etc/UTC", "GMT", "US/Eastern", "Asia/Calcutta", "America/Argentina/Ushuaia", "Etc/GMT+5", "EST5EDT"}) {
    EXPECT_EQ(zone(name).name(), name);
  }
  EXPECT_EQ(Zone::utc().name(), "UTC");
  EXPECT_EQ(Zone::utc().offset_at(utc("9999-01-01T00:00:00Z")), 0s);
}

TEST(Zone, AnUnknownNameIsRefusedWithWhatIsAllowed) {
  const Error error = error_of(Zone::load("Mars/Olympus"));
  EXPECT_EQ(error.code, ErrorCode::invalid_configuration);
  EXPECT_EQ(error.message,
            "time zone \"Mars/Olympus\", column 1: unknown; allowed are the names of the IANA database, like "
            "Europe/London or UTC");
  EXPECT_EQ(error.column, 1);
}

TEST(Zone, AnAlmostRightNameIsAnsweredWithTheRightOne) {
  for (const std::string_view name : {"europe/london", "London", "Europa/London", "EUROPE/LONDON"}) {
    EXPECT_THAT(error_of(Zone::load(name)).message, testing::HasSubstr(" (did you mean Europe/London?); allowed are"));
  }
  EXPECT_THAT(error_of(Zone::load("utc ")).message, testing::HasSubstr("did you mean UTC?"));
  EXPECT_THAT(error_of(Zone::load("Amerika/New_Yrok")).message, testing::HasSubstr("did you mean America/New_York?"));
  EXPECT_THAT(error_of(Zone::load("Moon/Base")).message, testing::Not(testing::HasSubstr("did you mean")));
}

TEST(Zone, PathsPosixStringsAndOffsetsAreNotNames) {
  using namespace std::string_view_literals;
  for (const std::string_view name : {""sv,
                                      " "sv,
                                      "/etc/localtime"sv,
                                      "../zoneinfo/UTC"sv,
                                      "Europe/../UTC"sv,
                                      "/usr/share/zoneinfo/UTC"sv,
                                      "localtime"sv,
                                      "posixrules"sv,
                                      "right/UTC"sv,
                                      "posix/UTC"sv,
                                      "EST5EDT,M3.2.0,M11.1.0"sv,
                                      "GMT0BST"sv,
                                      "+01:00"sv,
                                      "UTC+1"sv,
                                      "Fixed/UTC+01:00:00"sv,
                                      "Europe/"sv,
                                      "Europe"sv,
                                      "UTC\0"sv,
                                      "UTC\n"sv,
                                      "tzdata.zi"sv,
                                      "file:UTC"sv,
                                      "libc:UTC"sv}) {
    const Error error = error_of(Zone::load(name));
    EXPECT_EQ(error.code, ErrorCode::invalid_configuration) << name;
    test::expect_one_line(error);
  }
}

TEST(Zone, ALocalTimeIsCutToTheSecond) {
  EXPECT_EQ(zone("Europe/London").to_local(utc("2026-07-01T00:00:00.999Z")), local("2026-07-01T01:00:00"));
  EXPECT_EQ(Zone::utc().to_local(utc("1969-12-31T23:59:59.999Z")), local("1969-12-31T23:59:59"));
}

std::string resolved(std::string_view name, std::string_view text) {
  const Zone::Mapping mapping = zone(name).resolve(local(text));
  const std::string first = text_of(Instant(mapping.first));
  const std::string second = text_of(Instant(mapping.second));
  switch (mapping.kind) {
    case Kind::unique: return first == second ? first : "broken";
    case Kind::gap: return first == second ? "gap " + first : "broken";
    case Kind::overlap: return first + " " + second;
  }
  return "broken";
}

TEST(Zone, ALocalTimeExistsOnceTwiceOrNotAtAll) {
  EXPECT_EQ(resolved("Europe/London", "2026-03-29T00:59:59"), "2026-03-29T00:59:59Z");
  EXPECT_EQ(resolved("Europe/London", "2026-03-29T01:00:00"), "gap 2026-03-29T01:00:00Z");
  EXPECT_EQ(resolved("Europe/London", "2026-03-29T01:59:59"), "gap 2026-03-29T01:59:59Z");
  EXPECT_EQ(resolved("Europe/London", "2026-03-29T02:00:00"), "2026-03-29T01:00:00Z");
  EXPECT_EQ(resolved("Europe/London", "2026-10-25T00:59:59"), "2026-10-24T23:59:59Z");
  EXPECT_EQ(resolved("Europe/London", "2026-10-25T01:00:00"), "2026-10-25T00:00:00Z 2026-10-25T01:00:00Z");
  EXPECT_EQ(resolved("Europe/London", "2026-10-25T01:59:59"), "2026-10-25T00:59:59Z 2026-10-25T01:59:59Z");
  EXPECT_EQ(resolved("Europe/London", "2026-10-25T02:00:00"), "2026-10-25T02:00:00Z");
  EXPECT_EQ(resolved("America/Santiago", "2026-09-06T00:00:00"), "gap 2026-09-06T04:00:00Z");
  EXPECT_EQ(resolved("Australia/Lord_Howe", "2026-04-05T01:30:00"), "2026-04-04T14:30:00Z 2026-04-04T15:00:00Z");
  EXPECT_EQ(resolved("Australia/Lord_Howe", "2026-10-04T02:15:00"), "gap 2026-10-03T15:45:00Z");
  EXPECT_EQ(resolved("Pacific/Apia", "2011-12-30T12:00:00"), "gap 2011-12-30T22:00:00Z");  // the day that was not
}

TEST(Zone, TheEndsOfTheCalendarResolve) {
  for (const std::string_view name : test::kZones) {
    for (const std::string_view text : {"0001-01-01T00:00:00", "9999-12-31T23:59:59"}) {
      const Zone::Mapping mapping = zone(name).resolve(local(text));
      EXPECT_EQ(mapping.kind, Kind::unique) << name;
      EXPECT_EQ(zone(name).stretch_at(mapping.first).to_local(mapping.first), local(text)) << name;
    }
  }
}

UnixSeconds any_second(std::string_view from, std::string_view to) {
  return UnixSeconds(
      seconds(test::draw<std::int64_t>(utc(from).time_since_epoch() / 1s, utc(to).time_since_epoch() / 1s)));
}

RC_GTEST_PROP(Zone, StretchesAbutAndKnowTheirNeighbours, ()) {
  const Zone any = zone(test::any_zone());
  const UnixSeconds t = any_second("0001-01-01T00:00:00Z", "9990-01-01T00:00:00Z");
  const Stretch stretch = any.stretch_at(t);
  RC_ASSERT(stretch.begin <= t);
  RC_ASSERT(t < stretch.end);
  RC_ASSERT(any.offset_at(Instant(t)) == stretch.offset);
  if (Instant(stretch.end) < kInstantMax) {
    const Stretch after = any.stretch_at(stretch.end);
    RC_ASSERT(after.begin == stretch.end);
    RC_ASSERT(after.offset == stretch.offset_after);
    RC_ASSERT(after.offset_before == stretch.offset);
    RC_ASSERT(after.offset != stretch.offset);
  }
  if (Instant(stretch.begin) > kInstantMin) {
    const Stretch before = any.stretch_at(stretch.begin - 1s);
    RC_ASSERT(before.end == stretch.begin);
    RC_ASSERT(before.offset == stretch.offset_before);
    RC_ASSERT(before.offset_after == stretch.offset);
  }
}

// The calendar, and with it every rule of daylight saving, repeats after 400 years.
RC_GTEST_PROP(Zone, RepeatsAfterFourHundredYears, ()) {
  const std::string name = test::any_zone();
  RC_PRE(name != "Africa/Casablanca");  // moves with the moon
  const Zone any = zone(name);
  const UnixSeconds t = any_second("2038-01-01T00:00:00Z", "2438-01-01T00:00:00Z");
  const int cycles = test::draw(1, 18);
  RC_ASSERT(any.offset_at(Instant(t)) == any.offset_at(Instant(t + cycles * days(146097))));
}

// Every instant near `wanted` at which the clocks show it, found by trying all offsets in use around then.
std::vector<UnixSeconds> instants_showing(const Zone& any, LocalSeconds wanted) {
  const UnixSeconds as_utc(wanted.time_since_epoch());
  std::set<seconds> offsets;
  for (UnixSeconds t = as_utc - days(2); t <= as_utc + days(2); t += 15min) offsets.insert(any.offset_at(Instant(t)));
  std::vector<UnixSeconds> found;
  for (const seconds offset : offsets) {
    const UnixSeconds t = as_utc - offset;
    if (any.to_local(Instant(t)) == wanted) found.push_back(t);
  }
  std::ranges::sort(found);
  return found;
}

RC_GTEST_PROP(Zone, ResolvingALocalTimeIsTheInverseOfShowingIt, ()) {
  const Zone any = zone(test::any_zone());
  // Near a change of the offset, where it is interesting.
  const Stretch stretch = any.stretch_at(any_second("1970-01-01T00:00:00Z", "2060-01-01T00:00:00Z"));
  const UnixSeconds change =
      Instant(stretch.end) < kInstantMax ? stretch.end : any_second("2000-01-01T00:00:00Z", "2060-01-01T00:00:00Z");
  const LocalSeconds wanted = stretch.to_local(change) + seconds(test::draw(-90000, 90000));

  const std::vector<UnixSeconds> expected = instants_showing(any, wanted);
  const Zone::Mapping mapping = any.resolve(wanted);
  if (expected.empty()) {
    RC_ASSERT(mapping.kind == Kind::gap);
    RC_ASSERT(mapping.first == mapping.second);
    // Moved forward by the length of the gap: the offset before it still counts.
    RC_ASSERT(any.offset_at(Instant(change - 1s)) == UnixSeconds(wanted.time_since_epoch()) - mapping.first);
  } else {
    RC_ASSERT((mapping.kind == Kind::overlap) == (expected.size() == 2U));
    RC_ASSERT(mapping.first == expected.front());
    RC_ASSERT(mapping.second == expected.back());
  }
}

}  // namespace
}  // namespace carillon
