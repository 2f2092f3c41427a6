#include "core/policies/limit.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace carillon {

namespace {

// Sums of many small fillings may fall short of a whole token by this much.
constexpr double kRounding = 1e-12;

double microseconds(Duration duration) { return static_cast<double>(duration.count()); }

}  // namespace

LimitState::LimitState(const LimitRule& rule, Instant now)
    : rule_(rule), tokens_(rule.burst_or_default()), seen_(now) {}

void LimitState::change(const LimitRule& rule, Instant now) {
  advance(now);
  const bool had_rate = rule_.rate.has_value();
  rule_ = rule;
  tokens_ = had_rate ? std::min(tokens_, rule_.burst_or_default()) : rule_.burst_or_default();
  held_until_ = kInstantMin;
  share_ = 1;
}

Duration LimitState::step_length() const { return std::max(rule_.per, Duration(1)); }

double LimitState::tokens_per_microsecond() const {
  return std::max(0.0, rule_.rate.value_or(0)) / microseconds(step_length());
}

bool LimitState::has_token() const { return !rule_.rate || tokens_ >= 1 - kRounding; }

void LimitState::advance(Instant now) {
  if (now < seen_) {
    const Duration step = seen_ - now;
    if (step <= kClockStepMin) return;
    seen_ = now;
    held_until_ -= step;
    clean_since_ -= step;
    return;
  }
  // At most ten steps: then the share is whole again.
  while (share_ < 1 && now - clean_since_ >= step_length()) {
    const Instant step_end = clean_since_ + step_length();
    if (step_end > seen_) {
      tokens_ += share_ * tokens_per_microsecond() * microseconds(step_end - seen_);
      seen_ = step_end;
    }
    clean_since_ = step_end;
    share_ = std::min(1.0, share_ + kLimitShareStep);
  }
  tokens_ =
      std::min(rule_.burst_or_default(), tokens_ + (share_ * tokens_per_microsecond() * microseconds(now - seen_)));
  seen_ = now;
}

// When the bucket holds a token again if nothing is taken. It does not hold one now.
Instant LimitState::token_at() const {
  const double full_speed = tokens_per_microsecond();
  if (full_speed <= 0) return kInstantMax;
  // Within the rounding, so that a time that is whole stays whole.
  double missing = 1 - tokens_ - (kRounding / 2);
  double share = share_;
  Instant from = seen_;
  Instant step_end = clean_since_ + step_length();
  while (share < 1 && step_end > from && missing > share * full_speed * microseconds(step_end - from)) {
    missing -= share * full_speed * microseconds(step_end - from);
    share = std::min(1.0, share + kLimitShareStep);
    from = step_end;
    step_end += step_length();
  }
  const double wait = std::ceil(missing / (share * full_speed));
  if (wait >= microseconds(kDurationMax)) return kInstantMax;
  return add_clamped(from, std::max(Duration(1), Duration(static_cast<std::int64_t>(wait))));
}

Instant LimitState::closed_until(Instant now) {
  advance(now);
  return std::max(has_token() ? kInstantMin : token_at(), held_until_);
}

Opening LimitState::opening(Instant now) {
  advance(now);
  if (rule_.concurrency && running_ >= *rule_.concurrency) return {.kind = Opening::Kind::when_one_ends};
  const Instant at = closed_until(now);
  if (at <= seen_) return {.kind = Opening::Kind::now};
  return {.kind = Opening::Kind::at, .at = at};
}

void LimitState::take(Instant now) {
  advance(now);
  if (rule_.rate) tokens_ = std::max(0.0, tokens_ - 1);
  ++running_;
}

void LimitState::give_back(Instant now) {
  advance(now);
  if (rule_.rate) tokens_ = std::min(rule_.burst_or_default(), tokens_ + 1);
  end();
}

void LimitState::end() { disown(1); }

void LimitState::adopt(std::uint32_t count) { running_ += count; }

void LimitState::disown(std::uint32_t count) {
  CHECK(running_ >= count);
  running_ -= count;
}

void LimitState::rate_limited(Instant until, Instant now) {
  advance(now);
  held_until_ = std::max(held_until_, std::min(until, seen_ + kLimitHoldMax));
  share_ = std::max(kLimitShareMin, share_ / 2);
  clean_since_ = std::max(seen_, held_until_);
}

double LimitState::effective_rate(Instant now) {
  advance(now);
  return rule_.rate.value_or(0) * share_;
}

}  // namespace carillon
