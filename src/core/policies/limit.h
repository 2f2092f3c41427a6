// What is left of a limit: a bucket of tokens that fills with time, and a count of what runs.
//
//   LimitState limit({.rate = 10, .concurrency = 2}, now);
//   if (limit.opening(now).kind == Opening::Kind::now) limit.take(now);
//   ...
//   limit.end();
//
// In any span w there are at most burst + rate * w / per starts. A provider that says "too many" holds the limit for a
// while and halves its rate, which then comes back in steps.
//
// Time is handed in. If it steps back a little, the bucket waits until it has caught up: no span counts twice. A step
// of more than kClockStepMin is a clock that was corrected: the bucket keeps what it has and goes on from there.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/policies/limit_rule.h"
#include "core/time/duration.h"
#include "core/time/instant.h"

namespace carillon {

inline constexpr Duration kLimitHoldMax = std::chrono::hours(1);
inline constexpr Duration kClockStepMin = std::chrono::minutes(1);
inline constexpr double kLimitShareMin = 0.01;  // of the configured rate
inline constexpr double kLimitShareStep = 0.1;  // comes back with each clean `per`

// When one more may start.
struct Opening {
  enum class Kind : std::uint8_t {
    now,
    at,             // not before `at`, if nothing else is taken until then
    when_one_ends,  // all slots are in use
  };
  Kind kind = Kind::now;
  Instant at;
  friend bool operator==(const Opening&, const Opening&) = default;
};

class LimitState {
 public:
  // The bucket is full. A burst below 1 counts as 1; with a rate of 0 nothing starts.
  LimitState(const LimitRule& rule, Instant now);

  // What runs and what is left in the bucket stay, up to the new burst. What was learnt is forgotten: who sets a limit
  // opens it.
  void change(const LimitRule& rule, Instant now);
  const LimitRule& rule() const { return rule_; }

  Opening opening(Instant now);
  // Nothing starts before this, whatever ends until then: by the rate, or because a provider said so. In the past: by
  // neither.
  Instant closed_until(Instant now);

  // One starts. The caller has seen that it may.
  void take(Instant now);
  // It was not started after all: token and slot return. It then does not count among the starts of any span, as long
  // as the bucket has not been full in between; later, the token that returns is one more. What filled the bucket while
  // the token was out stays: if it had been full without that, so much comes early.
  void give_back(Instant now);
  // The attempt is over: the slot returns, the token stays used.
  void end();
  // `count` attempts that started before are counted too, over the limit if need be; no tokens are used.
  void adopt(std::uint32_t count);
  // `count` attempts now belong to another limit.
  void disown(std::uint32_t count);

  // Nothing starts before `until`, at most an hour from now, and the rate halves.
  void rate_limited(Instant until, Instant now);

  std::uint32_t running() const { return running_; }
  // Starts in each `per` at present; 0 if there is no rate.
  double effective_rate(Instant now);

 private:
  double tokens_per_microsecond() const;
  Duration step_length() const;
  bool has_token() const;
  void advance(Instant now);
  Instant token_at() const;

  LimitRule rule_;
  double tokens_;
  Instant seen_;                       // the bucket is filled up to here
  Instant held_until_ = kInstantMin;   // nothing starts before
  double share_ = 1;                   // of the configured rate
  Instant clean_since_ = kInstantMin;  // where the next step of the way back begins, while share_ < 1
  std::uint32_t running_ = 0;
};

}  // namespace carillon
