#include "core/policies/retry.h"

#include <algorithm>
#include <string>

#include "base/hash.h"

namespace carillon {

namespace {

constexpr std::uint32_t kDoublingsMax = 5;  // 32 × the base

// A nominal delay and how far jitter may move it.
struct Nominal {
  Duration delay;
  Duration spread;
};

// Not more than the delay itself, whatever was given.
Duration part_of(Duration delay, double jitter) {
  if (!(jitter > 0)) return Duration(0);  // also if it is not a number
  const double spread = static_cast<double>(delay.count()) * std::min(jitter, 1.0);
  return std::min(delay, Duration(static_cast<std::int64_t>(spread)));
}

Duration sane(Duration delay, Duration max = kDurationMax) { return std::clamp(delay, Duration(0), max); }

std::optional<Nominal> nominal(const RetryPolicy& policy, std::uint32_t failures) {
  const std::uint32_t n = std::max<std::uint32_t>(failures, 1);
  if (const auto* table = std::get_if<RetryTable>(&policy)) {
    if (table->delays.empty()) return Nominal{};
    const Duration delay = sane(table->delays[std::min<std::size_t>(n, table->delays.size()) - 1]);
    return Nominal{delay, part_of(delay, table->jitter)};
  }
  if (const auto* exponential = std::get_if<RetryExponential>(&policy)) {
    const Duration base = sane(exponential->base, kDurationMax / 32);
    const Duration delay = base * (std::int64_t{1} << std::min(n - 1, kDoublingsMax));
    return Nominal{delay, part_of(delay, exponential->jitter)};
  }
  if (const auto* fixed = std::get_if<RetryFixed>(&policy)) return Nominal{sane(fixed->delay), Duration(0)};
  return std::nullopt;
}

struct TimeBounds {
  Instant min;
  Instant max;
};

// The next whole millisecond; the one before if that is the only one within the bounds.
Instant planned_within(Instant wanted, const TimeBounds& bounds) {
  const Instant up = up_to_millisecond(wanted);
  const Instant down = cut_to_millisecond(wanted);
  return up > bounds.max && down >= bounds.min ? down : up;
}

}  // namespace

std::optional<DelayBounds> delay_bounds(const RetryPolicy& policy, std::uint32_t failures) {
  const auto found = nominal(policy, failures);
  if (!found) return std::nullopt;
  return DelayBounds{.min = found->delay - found->spread, .max = found->delay + found->spread};
}

std::optional<Instant> next_attempt_at(const RetryPolicy& policy, const RetryQuestion& question) {
  const auto bounds = delay_bounds(policy, question.failures);
  if (!bounds) return std::nullopt;
  if (std::holds_alternative<RetryFixed>(policy)) {
    return up_to_millisecond(std::max(question.now, add_clamped(question.planned_at, bounds->min)));
  }
  const std::uint64_t hash = stable_hash({"retry", question.job, std::to_string(question.failures)});
  const auto width = static_cast<std::uint64_t>((bounds->max - bounds->min).count());
  const Duration delay = bounds->min + Duration(static_cast<std::int64_t>(scale_hash(hash, width)));
  return planned_within(add_clamped(question.now, delay),
                        {.min = add_clamped(question.now, bounds->min), .max = add_clamped(question.now, bounds->max)});
}

}  // namespace carillon
