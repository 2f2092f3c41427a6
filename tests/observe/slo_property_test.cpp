// Any series of events: the buckets say what a judge says who keeps every sample.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "observe/slo_window.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;

template <typename T>
T draw(T least, T most) {
  return *rc::gen::resize(100, rc::gen::inRange<T>(least, most + 1));
}

struct Sample {
  Duration at;
  EventBody body;
};

SloOptions any_config() {
  SloOptions config;
  config.window = draw(1, 5) * 1min;
  config.tick_budget = draw(1, 50) * 1ms;
  config.job_p95_max = draw(1, 5000) * 1ms;
  config.sat_ratio = draw(0, 10) / 10.0;
  config.depth_avg_max = draw(0, 30);
  config.cutoff_rate_max = draw(0, 10) / 10.0;
  config.dlq_max = draw(0, 3);
  config.stalled_max = draw(0, 3);
  config.breach_consecutive = draw<std::uint32_t>(1, 4);
  return config;
}

// Mostly around the threshold, where it matters.
Duration any_duration(Duration threshold) {
  switch (draw(0, 3)) {
    case 0: return threshold + Duration(draw(-2, 2));
    case 1: return threshold / draw(1, 40);
    case 2: return threshold * draw(1, 1000);
    default: return Duration(draw(0, 2'000'000'000));
  }
}

EventBody any_event(const SloOptions& config, std::uint64_t& depth) {
  switch (draw(0, 7)) {
    case 0:
      return TickStopped{.duration = any_duration(config.tick_budget),
                         .users_scanned = draw<std::uint64_t>(0, 1),
                         .cutoff_finalized = draw<std::uint64_t>(0, 1)};
    case 1: return JobStopped{.duration = any_duration(config.job_p95_max)};
    case 2: return InFlight{.in_flight = draw(2U, 4U), .max_concurrency = 4};
    case 3:
      depth += draw(0U, 4U);  // it grows more often than not
      if (draw(0, 12) == 0) depth = 0;
      return QueueDepth{.depth = depth};
    case 4:
      return Finalized{.status = draw(0, 2) == 0 ? JobState::cutoff_reached : JobState::done,
                       .count = draw<std::uint64_t>(1, 3),
                       .due_bucket = draw(0, 9) == 0 ? std::nullopt : std::optional<std::uint16_t>(draw(0, 4))};
    case 5: return JobChanged{.state = draw(0, 3) == 0 ? JobState::dlq : JobState::done};
    case 6: return LeaseLost{};
    default: return JobPicked{};
  }
}

// ---- The judge ------------------------------------------------------------------------------------------------------

std::int64_t minute_of(Duration at) { return at / 1min; }

struct Judge {
  SloOptions config;
  std::vector<Sample> all;
  std::optional<std::uint64_t> parked;  // as was said last

  template <typename T>
  std::vector<std::pair<Duration, T>> heard(Duration now, bool ever = false) const {
    std::vector<std::pair<Duration, T>> found;
    for (const Sample& sample : all) {
      const bool within = minute_of(sample.at) >= minute_of(now) - config.window / 1min;
      const auto* const body = std::get_if<T>(&sample.body);
      if (body != nullptr && (within || ever)) found.emplace_back(sample.at, *body);
    }
    return found;
  }

  template <typename T>
  SloMeasure timings(Duration now, Duration threshold) const {
    std::vector<Duration> durations;
    for (const auto& [at, body] : heard<T>(now)) {
      if constexpr (std::is_same_v<T, TickStopped>) {
        if (body.users_scanned + body.cutoff_finalized == 0) continue;
      }
      durations.push_back(body.duration);
    }
    if (durations.empty()) return {};
    std::ranges::sort(durations);
    const auto rank = static_cast<std::size_t>(std::ceil(static_cast<double>(durations.size()) * 95 / 100));
    const Duration p95 = durations.at(rank - 1);
    return {.samples = durations.size(),
            .value = std::chrono::duration<double, std::milli>(p95).count(),
            .over = p95 > threshold};
  }

  SloMeasure saturation(Duration now) const {
    SloMeasure measure;
    double full = 0;
    for (const auto& [at, level] : heard<InFlight>(now)) {
      ++measure.samples;
      full += level.in_flight == level.max_concurrency ? 1 : 0;
    }
    if (measure.samples == 0) return {};
    measure.value = full / static_cast<double>(measure.samples);
    measure.over = *measure.value > config.sat_ratio;
    return measure;
  }

  SloMeasure depth(Duration now) const {
    SloMeasure measure;
    double sum = 0;
    std::map<std::int64_t, std::pair<double, double>> by_minute;
    for (const auto& [at, queue] : heard<QueueDepth>(now)) {
      ++measure.samples;
      sum += static_cast<double>(queue.depth);
      by_minute[minute_of(at)].first += static_cast<double>(queue.depth);
      by_minute[minute_of(at)].second += 1;
    }
    if (measure.samples == 0) return {};
    measure.value = sum / static_cast<double>(measure.samples);
    bool grows = by_minute.size() >= 3;
    std::optional<double> last;
    double first = 0;
    for (const auto& [minute, sums] : by_minute) {
      const double mean = sums.first / sums.second;
      if (!last) first = mean;
      if (last && mean <= *last) grows = false;
      last = mean;
    }
    const bool steep = *last - first >= static_cast<double>(by_minute.size()) - 1;
    const auto ever = heard<QueueDepth>(now, true);
    const bool watched = minute_of(now) - minute_of(ever.front().first) >= config.window / 1min;
    measure.growth = grows && steep && watched;
    measure.over = *measure.value > config.depth_avg_max || measure.growth;
    return measure;
  }

  SloMeasure cutoffs(Duration now) const {
    SloMeasure measure;
    std::map<std::uint16_t, std::uint64_t> missed;
    double misses = 0;
    for (const auto& [at, outcome] : heard<Finalized>(now)) {
      if (!outcome.due_bucket) continue;
      measure.samples += outcome.count;
      if (outcome.status != JobState::cutoff_reached) continue;
      misses += static_cast<double>(outcome.count);
      missed[*outcome.due_bucket] += outcome.count;
    }
    if (measure.samples == 0) return {};
    measure.value = misses / static_cast<double>(measure.samples);
    measure.over = *measure.value > config.cutoff_rate_max;
    std::uint64_t most = 0;
    for (const auto& [bucket, count] : missed) {
      if (count <= most) continue;
      most = count;
      measure.due_bucket = bucket;
    }
    return measure;
  }

  static SloMeasure counted(std::uint64_t count, double most) {
    const auto value = static_cast<double>(count);
    return {.samples = count, .value = value, .over = value > most};
  }

  SloMeasure judge(Slo slo, Duration now) const {
    switch (slo) {
      case Slo::tick_budget: return timings<TickStopped>(now, config.tick_budget);
      case Slo::job_latency: return timings<JobStopped>(now, config.job_p95_max);
      case Slo::saturation: return saturation(now);
      case Slo::queue_pressure: return depth(now);
      case Slo::cutoff_miss_rate: return cutoffs(now);
      case Slo::dlq:
        if (!parked) return {};
        return {
            .samples = 1, .value = static_cast<double>(*parked), .over = static_cast<double>(*parked) > config.dlq_max};
      case Slo::stalled: return counted(heard<LeaseLost>(now).size(), config.stalled_max);
    }
    return {};
  }
};

// The state by the letter: it turns where the last so many verdicts are all the other way.
bool turns(const std::vector<bool>& verdicts, bool breached, std::size_t consecutive) {
  if (verdicts.size() < consecutive) return false;
  return std::all_of(verdicts.end() - static_cast<std::ptrdiff_t>(consecutive), verdicts.end(),
                     [&](bool over) { return over != breached; });
}

RC_GTEST_PROP(SloProperty, BucketsAgreeWithAJudgeWhoKeepsEverySample, ()) {
  const SloOptions config = any_config();
  Judge judge{.config = config, .all = {}, .parked = {}};
  SloWindow window(config);
  SloWatcher watcher(config, Instant{});
  std::map<Slo, std::vector<bool>> verdicts;
  std::map<Slo, bool> breached;
  std::uint64_t depth = 0;
  Duration now = Duration(draw(0, 1'000'000'000));
  for (int round = draw(1, 40); round > 0; --round) {
    for (int i = draw(0, 12); i > 0; --i) {
      now += Duration(draw(0, 20'000'000));
      const EventBody body = any_event(config, depth);
      judge.all.push_back({.at = now, .body = body});
      window.hear(body, now);
      watcher.hear({.at = {}, .body = body}, now);
    }
    now += Duration(draw(0, 90'000'000));
    std::optional<std::uint64_t> parked;
    if (draw(0, 4) > 0) judge.parked = parked = draw<std::uint64_t>(0, 5);
    SloMeasures measures = window.measure(now);
    if (judge.parked) measures[Slo::dlq] = measure_level(Slo::dlq, static_cast<double>(*judge.parked), config);
    const std::vector<SloTurn> told = watcher.evaluate({.boot = now, .now = Instant(now), .parked = parked});
    for (const Slo slo : kSlos) {
      SloMeasure measured = measures[slo];
      SloMeasure expected = judge.judge(slo, now);
      RC_LOG() << to_string(slo) << " at " << now.count() << '\n';
      RC_ASSERT(measured.over == expected.over);
      RC_ASSERT(measured.value.has_value() == expected.value.has_value());
      if (expected.value) {
        const double error = slo == Slo::tick_budget || slo == Slo::job_latency ? DurationHistogram::kErrorMax : 1e-9;
        RC_ASSERT(std::abs(*measured.value - *expected.value) <= *expected.value * error + 0.001);
        if (!expected.growth) RC_ASSERT((*measured.value > threshold_of(slo, config)) == expected.over);
      }
      measured.value = expected.value = std::nullopt;
      RC_ASSERT(measured == expected);

      verdicts[slo].push_back(expected.over);
      const bool turned = turns(verdicts[slo], breached[slo], config.breach_consecutive);
      if (turned) breached[slo] = !breached[slo];
      const auto said = std::ranges::find(told, slo, &SloTurn::slo);
      RC_ASSERT((said != told.end()) == turned);
      if (turned) RC_ASSERT(said->standing.breached == breached[slo]);
    }
  }
}

RC_GTEST_PROP(SloProperty, AQuantileIsOffByLessThanItSays, ()) {
  std::vector<Duration> durations;
  DurationHistogram one;
  DurationHistogram other;
  for (int i = draw(1, 200); i > 0; --i) {
    const Duration duration(draw<std::int64_t>(0, std::int64_t{1} << draw(1, 39)));
    durations.push_back(duration);
    (i % 2 == 0 ? one : other).add(duration);
  }
  std::ranges::sort(durations);
  const auto exact = static_cast<double>(durations.at(rank_95(durations.size()) - 1).count());
  const std::array<const DurationHistogram*, 2> both{&one, &other};
  const auto found = static_cast<double>(DurationHistogram::p95(both)->count());
  RC_ASSERT(std::abs(found - exact) <= exact * DurationHistogram::kErrorMax);
  if (exact < 32) RC_ASSERT(found == exact);
}

}  // namespace
}  // namespace carillon
