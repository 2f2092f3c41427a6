#include "observe/slo_window.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <variant>
#include <vector>

#include "observe/milliseconds.h"

namespace carillon {

namespace {

std::int64_t minute_of(Duration at) { return std::chrono::floor<std::chrono::minutes>(at).count(); }

}  // namespace

SloWindow::SloWindow(const SloOptions& config)
    : config_(config),
      length_(std::max<std::int64_t>(1, std::chrono::floor<std::chrono::minutes>(config.window).count())) {}

void SloWindow::Timings::add(Duration duration, Duration threshold) {
  ++samples;
  if (duration > threshold) ++over;
  histogram.add(duration);
}

SloWindow::Minute& SloWindow::minute_at(Duration at) {
  const std::int64_t number = minute_of(at);
  if (minutes_.empty() || minutes_.back().number < number) {
    minutes_.push_back({.number = number});
    // Nobody may ask for long.
    while (minutes_.front().number < number - length_) minutes_.pop_front();
  }
  return minutes_.back();
}

void SloWindow::hear(const EventBody& body, Duration at) {
  if (const auto* const tick = std::get_if<TickStopped>(&body)) {
    // Ticks that found nothing to look at are quick, and many: they must not dilute.
    if (tick->users_scanned == 0 && tick->cutoff_finalized == 0) return;
    minute_at(at).ticks.add(tick->duration, config_.tick_budget);
  } else if (const auto* const job = std::get_if<JobStopped>(&body)) {
    minute_at(at).jobs.add(job->duration, config_.job_p95_max);
  } else if (const auto* const level = std::get_if<InFlight>(&body)) {
    Minute& minute = minute_at(at);
    ++minute.levels;
    if (level->in_flight >= level->max_concurrency) ++minute.full_levels;
  } else if (const auto* const queue = std::get_if<QueueDepth>(&body)) {
    Minute& minute = minute_at(at);
    ++minute.depths;
    minute.depth_sum += static_cast<double>(queue->depth);
    if (!first_depth_at_) first_depth_at_ = minute.number;
  } else if (const auto* const outcome = std::get_if<Finalized>(&body)) {
    // Only a delivery has a minute by which it is due: other occurrences cannot miss theirs and must not dilute.
    if (!outcome->due_bucket) return;
    if (outcome->status == JobState::done) minute_at(at).delivered += outcome->count;
    if (outcome->status == JobState::cutoff_reached) minute_at(at).missed[*outcome->due_bucket] += outcome->count;
  } else if (std::holds_alternative<LeaseLost>(body)) {
    ++minute_at(at).stalled;
  }
}

void SloWindow::forget_before(std::int64_t now) {
  while (!minutes_.empty() && minutes_.front().number < now - length_) minutes_.pop_front();
}

SloMeasures SloWindow::measure(Duration now) {
  const std::int64_t number = minute_of(now);
  SloWindow* const only = this;
  SloMeasures measures = measure_jobs({&only, 1}, now);
  measures[Slo::tick_budget] = measure_timings({&only, 1}, &Minute::ticks, config_.tick_budget);
  measures[Slo::saturation] = measure_saturation();
  measures[Slo::queue_pressure] = measure_depth(number);
  return measures;
}

SloMeasures SloWindow::measure_jobs(std::span<SloWindow* const> windows, Duration now) {
  SloMeasures measures;
  if (windows.empty()) return measures;
  for (SloWindow* const window : windows) window->forget_before(minute_of(now));
  const SloOptions& config = windows.front()->config_;
  const std::vector<const SloWindow*> all(windows.begin(), windows.end());
  measures[Slo::job_latency] = measure_timings(all, &Minute::jobs, config.job_p95_max);
  measures[Slo::cutoff_miss_rate] = measure_cutoffs(all, config.cutoff_rate_max);
  measures[Slo::stalled] = measure_stalled(all, config.stalled_max);
  return measures;
}

SloMeasure SloWindow::measure_timings(Windows windows, Timings Minute::* timings, Duration threshold) {
  SloMeasure measure;
  std::uint64_t over = 0;
  std::vector<const DurationHistogram*> histograms;
  for (const SloWindow* const window : windows) {
    for (const Minute& minute : window->minutes_) {
      const Timings& of_minute = minute.*timings;
      measure.samples += of_minute.samples;
      over += of_minute.over;
      histograms.push_back(&of_minute.histogram);
    }
  }
  const auto p95 = DurationHistogram::p95(histograms);
  if (!p95) return measure;
  measure.over = measure.samples - over < rank_95(measure.samples);
  // The verdict is exact; where the cell of the histogram spans the threshold, the value follows it.
  measure.value = milliseconds(measure.over ? std::max(*p95, threshold + Duration(1)) : std::min(*p95, threshold));
  return measure;
}

SloMeasure SloWindow::measure_saturation() const {
  SloMeasure measure;
  std::uint64_t full = 0;
  for (const Minute& minute : minutes_) {
    measure.samples += minute.levels;
    full += minute.full_levels;
  }
  if (measure.samples == 0) return measure;
  measure.value = static_cast<double>(full) / static_cast<double>(measure.samples);
  measure.over = *measure.value > config_.sat_ratio;
  return measure;
}

SloMeasure SloWindow::measure_depth(std::int64_t now) const {
  SloMeasure measure;
  double sum = 0;
  std::vector<double> means;
  for (const Minute& minute : minutes_) {
    if (minute.depths == 0) continue;
    measure.samples += minute.depths;
    sum += minute.depth_sum;
    means.push_back(minute.depth_sum / static_cast<double>(minute.depths));
  }
  if (measure.samples == 0) return measure;
  measure.value = sum / static_cast<double>(measure.samples);
  const bool grows = means.size() >= kGrowthMinutesMin &&
                     std::ranges::adjacent_find(means, std::greater_equal{}) == means.end() &&
                     means.back() - means.front() >= kGrowthMin * static_cast<double>(means.size() - 1);
  // A queue that fills after the start has not grown for a whole window.
  measure.growth = grows && first_depth_at_ && now - *first_depth_at_ >= length_;
  measure.over = *measure.value > config_.depth_avg_max || measure.growth;
  return measure;
}

SloMeasure SloWindow::measure_cutoffs(Windows windows, double rate_max) {
  SloMeasure measure;
  std::map<std::uint16_t, std::uint64_t> missed;
  std::uint64_t all_missed = 0;
  for (const SloWindow* const window : windows) {
    for (const Minute& minute : window->minutes_) {
      measure.samples += minute.delivered;
      for (const auto& [bucket, count] : minute.missed) {
        missed[bucket] += count;
        all_missed += count;
      }
    }
  }
  measure.samples += all_missed;
  if (measure.samples == 0) return measure;
  measure.value = static_cast<double>(all_missed) / static_cast<double>(measure.samples);
  measure.over = *measure.value > rate_max;
  // The earliest of those that missed most.
  const auto most = std::ranges::max_element(missed, {}, [](const auto& one) { return one.second; });
  if (most != missed.end()) measure.due_bucket = most->first;
  return measure;
}

SloMeasure SloWindow::measure_stalled(Windows windows, double stalled_max) {
  SloMeasure measure;
  for (const SloWindow* const window : windows) {
    for (const Minute& minute : window->minutes_) measure.samples += minute.stalled;
  }
  measure.value = static_cast<double>(measure.samples);
  measure.over = *measure.value > stalled_max;
  return measure;
}

}  // namespace carillon
