// What surrounds a fuzzed rule: zone, DST policy, start, where the walk begins, and limits.
//
// The first six characters of an input choose from fixed tables, one character each; the rest is the rule's text. The
// size of each table divides 48, so that the digit 0 means the first entry and a seed can be written by hand:
//
//   000000FREQ=DAILY    UTC, shift, first, start 2026-01-05T09:00, from 2026-01-01, no limits
//   121210FREQ=DAILY    Europe/London, next_valid, second, …
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/triggers/timetable.h"

namespace carillon::fuzz {

struct Frame {
  Timetable::Options options;
  LocalSeconds start;  // of an rrule
  Instant from;        // where the walk begins
  std::string_view text;
};

inline constexpr std::size_t kFrameBytes = 6;

// The bytes as text.
std::string_view as_text(const std::uint8_t* data, std::size_t size);

// A text that is too short for a frame stands in the first frame.
Frame take_frame(std::string_view input);

}  // namespace carillon::fuzz
