#include "core/triggers/preview.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "core/times.h"

namespace carillon {
namespace {

using test::timetable;
using test::utc;
using testing::ElementsAre;

std::vector<std::string> json_of(const Timetable& timetable, std::string_view from, std::size_t count) {
  std::vector<std::string> lines;
  for (const PreviewItem& item : preview(timetable, utc(from), count)) {
    lines.push_back(to_json(item, timetable.zone()));
    EXPECT_TRUE(parse_json(lines.back()).has_value()) << lines.back();
  }
  return lines;
}

TEST(Preview, ShowsInstantLocalTimeAndWhatAChangeDid) {
  EXPECT_THAT(
      json_of(timetable("daily:01:30", {.zone = "Europe/London"}), "2026-03-28T12:00:00Z", 2),
      ElementsAre(R"({"at": "2026-03-29T01:30:00.000Z", "local": "2026-03-29T02:30:00+01:00", "note": "gap_shifted"})",
                  R"({"at": "2026-03-30T00:30:00.000Z", "local": "2026-03-30T01:30:00+01:00", "note": null})"));
}

TEST(Preview, ShowsWhatIsSkippedInItsPlace) {
  const Timetable skipping = timetable("daily:01:30", {.zone = "Europe/London", .dst = {.gap = DstGap::skip}});
  EXPECT_THAT(json_of(skipping, "2026-03-28T00:00:00Z", 3),
              ElementsAre(R"({"at": "2026-03-28T01:30:00.000Z", "local": "2026-03-28T01:30:00+00:00", "note": null})",
                          R"({"at": null, "local": "2026-03-29T01:30:00", "note": "gap_skipped"})",
                          R"({"at": "2026-03-30T00:30:00.000Z", "local": "2026-03-30T01:30:00+01:00", "note": null})"));
}

TEST(Preview, BeginsWithAnOccurrenceAtItsFirstInstant) {
  const auto items = preview(timetable("daily:08:00"), utc("2026-01-01T08:00:00Z"), 2);
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].at, utc("2026-01-01T08:00:00Z"));
}

TEST(Preview, EndsWithTheSeriesOrTheNumberAskedFor) {
  EXPECT_EQ(preview(timetable("once:2026-03-29T01:00:00Z"), utc("2026-01-01T00:00:00Z"), 10).size(), 1U);
  EXPECT_EQ(preview(timetable("every:1s"), utc("2026-01-01T00:00:00Z"), 1000).size(), 1000U);
  EXPECT_TRUE(preview(timetable("once:2026-03-29T01:00:00Z"), utc("2026-04-01T00:00:00Z"), 10).empty());
  EXPECT_TRUE(preview(timetable("every:1s"), utc("2026-01-01T00:00:00Z"), 0).empty());
}

TEST(Preview, ShowsBothRunsOfARepeatedTime) {
  const auto items = preview(timetable("daily:01:30", {.zone = "Europe/London", .dst = {.overlap = DstOverlap::both}}),
                             utc("2026-10-25T00:00:00Z"), 2);
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].note, DstNote::overlap_first);
  EXPECT_EQ(items[1].note, DstNote::overlap_second);
  EXPECT_EQ(items[0].asked, items[1].asked);
}

}  // namespace
}  // namespace carillon
