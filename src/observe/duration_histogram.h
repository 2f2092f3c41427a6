// How long things took, counted in cells of fixed width: the memory does not grow with their number.
//
// Cells are a sixteenth of an octave wide. A quantile that is read from them is off by less than kErrorMax of its true
// value; below 32 microseconds it is exact. What takes longer than 12 days counts as that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/time/duration.h"

namespace carillon {

class DurationHistogram {
 public:
  static constexpr double kErrorMax = 1.0 / 32;

  void add(Duration duration);

  // The duration at the rank that `rank_95` gives, over all of the histograms; nothing if they are empty.
  static std::optional<Duration> p95(std::span<const DurationHistogram* const> histograms);

 private:
  std::vector<std::uint32_t> cells_;  // none before the first
};

// The 95th percentile of so many samples is the one of this rank, from 1, in their order: the nearest-rank method.
std::uint64_t rank_95(std::uint64_t samples);

}  // namespace carillon
