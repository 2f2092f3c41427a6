// A set of times of day of the form hours × minutes × seconds, as three bit masks: {9, 17} × {0, 30} × {0}.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "core/time/local_time.h"

namespace carillon {

class TimeSet {
 public:
  // Bit n stands for the value n. None of them is empty.
  struct Masks {
    std::uint64_t hours;
    std::uint64_t minutes;
    std::uint64_t seconds;
  };
  explicit TimeSet(Masks masks) : masks_(masks) {}

  static constexpr std::uint64_t kAllHours = (std::uint64_t{1} << 24) - 1;
  static constexpr std::uint64_t kAllSixty = (std::uint64_t{1} << 60) - 1;

  const Masks& masks() const { return masks_; }
  bool is_whole_day() const {
    return masks_.hours == kAllHours && masks_.minutes == kAllSixty && masks_.seconds == kAllSixty;
  }

  std::int64_t size() const {
    return std::int64_t{std::popcount(masks_.hours)} * std::popcount(masks_.minutes) * std::popcount(masks_.seconds);
  }

  // The first member that is not before `time`; nothing if the day has no more.
  std::optional<TimeOfDay> first_from(TimeOfDay time) const;

  // The member with `index` smaller ones; 0 <= index < size().
  TimeOfDay at(std::int64_t index) const;

  // How many members lie before `time`, which may be a whole day (86,400).
  std::int64_t count_before(TimeOfDay time) const;

 private:
  Masks masks_;
};

}  // namespace carillon
