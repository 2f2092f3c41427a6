// What happened in the last minutes, as counts: a rolling window of one bucket per minute.
//
// It covers the current minute and the `window` whole ones before it, so that it is never shorter than it is said to
// be. The memory is bounded by the length of the window, not by what happens in it: a bucket is two histograms and a
// few counts, and one count for each minute of day whose deliveries were missed.
#pragma once

#include <carillon/events.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>

#include "observe/duration_histogram.h"
#include "observe/slo.h"

namespace carillon {

class SloWindow {
 public:
  // Growth of the queue is judged from so many minutes on that have samples: fewer are noise.
  static constexpr std::size_t kGrowthMinutesMin = 3;
  // And it must be at least so much from one of them to the next, on average.
  static constexpr double kGrowthMin = 1;

  explicit SloWindow(const SloOptions& config);

  // `at` never goes back; one that does counts as the latest.
  void hear(const EventBody& body, Duration at);
  // Of the window that ends at `now`. What is older is forgotten. Not of the DLQ, which no window can know.
  SloMeasures measure(Duration now);
  // Of several that hear of different jobs, taken together: what is about jobs, and nothing about the server.
  static SloMeasures measure_jobs(std::span<SloWindow* const> windows, Duration now);

  // Its length stays.
  void set_thresholds(const SloOptions& config) { config_ = config; }

 private:
  // Samples, and how many of them were over the threshold: whether a percentile is over it is known exactly.
  struct Timings {
    std::uint64_t samples = 0;
    std::uint64_t over = 0;
    DurationHistogram histogram;
    void add(Duration duration, Duration threshold);
  };
  struct Minute {
    std::int64_t number = 0;
    Timings ticks;
    Timings jobs;
    std::uint64_t levels = 0;
    std::uint64_t full_levels = 0;  // every slot was taken
    std::uint64_t depths = 0;
    double depth_sum = 0;
    std::uint64_t delivered = 0;
    std::map<std::uint16_t, std::uint64_t> missed;  // by due bucket
    std::uint64_t stalled = 0;
  };

  using Windows = std::span<const SloWindow* const>;

  Minute& minute_at(Duration at);
  void forget_before(std::int64_t now);
  static SloMeasure measure_timings(Windows windows, Timings Minute::* timings, Duration threshold);
  SloMeasure measure_saturation() const;
  SloMeasure measure_depth(std::int64_t now) const;
  static SloMeasure measure_cutoffs(Windows windows, double rate_max);
  static SloMeasure measure_stalled(Windows windows, double stalled_max);

  SloOptions config_;
  std::int64_t length_;                         // in minutes
  std::deque<Minute> minutes_;                  // oldest first; only those with samples
  std::optional<std::int64_t> first_depth_at_;  // the minute of the first depth ever
};

}  // namespace carillon
