#include "frame.h"

#include <array>

#include "base/check.h"

namespace carillon::fuzz {

namespace {

using std::chrono::days;

// The zones of the design's list, and some with offsets at the edge or of odd minutes.
constexpr std::array<std::string_view, 16> kZones{"UTC",
                                                  "Europe/London",
                                                  "America/New_York",
                                                  "America/Santiago",
                                                  "Australia/Lord_Howe",
                                                  "Pacific/Chatham",
                                                  "Africa/Cairo",
                                                  "Antarctica/Troll",
                                                  "Europe/Dublin",
                                                  "Africa/Casablanca",
                                                  "Pacific/Apia",
                                                  "Asia/Kolkata",
                                                  "Asia/Tehran",
                                                  "Pacific/Kiritimati",
                                                  "Etc/GMT+12",
                                                  "America/St_Johns"};

constexpr std::array kGaps{DstGap::shift, DstGap::skip, DstGap::next_valid};
constexpr std::array kOverlaps{DstOverlap::first, DstOverlap::second, DstOverlap::both};

constexpr std::array<std::string_view, 8> kStarts{
    "2026-01-05T09:00:00", "2024-02-29T02:30:00",
    "2025-03-30T01:30:00",  // does not exist in London
    "2025-10-26T01:30:00",  // exists twice in London
    "0001-01-01T00:00:00", "9999-12-31T23:59:59", "1969-12-31T23:59:59",
    "2011-12-30T12:00:00",  // does not exist in Apia
};

constexpr std::array<std::string_view, 8> kFroms{
    "2026-01-01T00:00:00Z",     "2025-03-29T23:00:00Z",     "2025-10-25T23:00:00Z",
    "0001-01-01T00:00:00Z",     "9999-12-31T23:59:59.999Z",
    "2436-12-31T00:00:00Z",  // where the table of a zone's changes begins to repeat
    "1969-12-31T23:59:59.999Z",
    "9599-12-30T00:00:00Z",  // where the horizon of 400 years meets the end of the calendar
};

enum class Limit : std::uint8_t { none, starts_at, ends_at, exclude_dates };
constexpr std::array kLimits{Limit::none, Limit::starts_at, Limit::ends_at, Limit::exclude_dates};

template <typename Table>
const auto& pick(const Table& table, char choice) {
  static_assert(48 % std::tuple_size_v<Table> == 0);
  return table[static_cast<unsigned char>(choice) % table.size()];
}

void apply(Limit limit, Instant from, Timetable::Options& options) {
  switch (limit) {
    case Limit::none: return;
    case Limit::starts_at: options.starts_at = add_clamped(from, days(400)); return;
    case Limit::ends_at: options.ends_at = add_clamped(from, days(1500)); return;
    case Limit::exclude_dates: {
      const auto today = std::chrono::floor<days>(options.zone.to_local(from));
      for (const int ahead : {0, 1, 2, 4, 30}) options.exclude_dates.insert(today + days(ahead));
      return;
    }
  }
  UNREACHABLE();
}

}  // namespace

std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

Frame take_frame(std::string_view input) {
  std::string_view choices = "000000";
  if (input.size() >= kFrameBytes) {
    choices = input.substr(0, kFrameBytes);
    input.remove_prefix(kFrameBytes);
  }
  const auto zone = Zone::load(pick(kZones, choices[0]));
  CHECK(zone);
  Frame frame{.options = {}, .start = {}, .from = {}, .text = input};
  frame.options.zone = *zone;
  frame.options.dst = {.gap = pick(kGaps, choices[1]), .overlap = pick(kOverlaps, choices[2])};
  frame.start = parse_local_seconds(pick(kStarts, choices[3])).value();
  frame.from = parse_instant(pick(kFroms, choices[4])).value();
  frame.options.created_at = frame.from;
  apply(pick(kLimits, choices[5]), frame.from, frame.options);
  return frame;
}

}  // namespace carillon::fuzz
