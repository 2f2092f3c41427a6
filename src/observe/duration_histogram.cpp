#include "observe/duration_histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace carillon {

namespace {

constexpr unsigned kCellBits = 4;  // of an octave
constexpr std::uint64_t kCellsOfOctave = 1U << kCellBits;
constexpr unsigned kOctaves = 40;  // 2^40 microseconds are 12.7 days
constexpr std::uint64_t kLongest = (std::uint64_t{1} << kOctaves) - 1;
constexpr std::size_t kCells = (kOctaves - kCellBits + 1) * kCellsOfOctave;

std::size_t cell_of(std::uint64_t microseconds) {
  if (microseconds < kCellsOfOctave) return microseconds;
  const auto octave = static_cast<unsigned>(std::bit_width(microseconds)) - 1;
  const std::uint64_t within = (microseconds >> (octave - kCellBits)) & (kCellsOfOctave - 1);
  return ((octave - kCellBits + 1) * kCellsOfOctave) + within;
}

// The middle of what falls into the cell.
Duration middle_of(std::size_t cell) {
  if (cell < kCellsOfOctave) return Duration(cell);
  const std::uint64_t shift = (cell / kCellsOfOctave) - 1;
  const std::uint64_t first = (kCellsOfOctave + (cell % kCellsOfOctave)) << shift;
  const std::uint64_t width = std::uint64_t{1} << shift;
  return Duration(first + ((width - 1) / 2));
}

}  // namespace

std::uint64_t rank_95(std::uint64_t samples) { return samples - (samples / 20); }

void DurationHistogram::add(Duration duration) {
  if (cells_.empty()) cells_.resize(kCells);
  const auto microseconds = static_cast<std::uint64_t>(std::max(Duration::zero(), duration).count());
  ++cells_[cell_of(std::min(microseconds, kLongest))];
}

std::optional<Duration> DurationHistogram::p95(std::span<const DurationHistogram* const> histograms) {
  std::array<std::uint64_t, kCells> sums{};
  for (const DurationHistogram* const histogram : histograms) {
    for (std::size_t cell = 0; cell < histogram->cells_.size(); ++cell) sums.at(cell) += histogram->cells_[cell];
  }
  const std::uint64_t samples = std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
  if (samples == 0) return std::nullopt;
  std::uint64_t below = 0;
  for (std::size_t cell = 0; cell < kCells; ++cell) {
    below += sums.at(cell);
    if (below >= rank_95(samples)) return middle_of(cell);
  }
  return std::nullopt;
}

}  // namespace carillon
