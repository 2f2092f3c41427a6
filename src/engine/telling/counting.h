// What an event adds to the totals: the one place that says so. (invariant 34)
#pragma once

#include <carillon/events.h>

namespace carillon {

template <typename T>
void count(Counters& counters, const T& event) {
  if constexpr (std::is_same_v<T, JobPicked>) {
    ++counters.picked;
  } else if constexpr (std::is_same_v<T, JobStopped>) {
    ++(event.result == AttemptResult::ok ? counters.succeeded : counters.failed);
  } else if constexpr (std::is_same_v<T, Deferred>) {
    counters.deferred += event.count;
  } else if constexpr (std::is_same_v<T, LeaseLost>) {
    ++counters.stalled;
  } else if constexpr (std::is_same_v<T, HandlerAbandoned>) {
    ++counters.abandoned;
  } else if constexpr (std::is_same_v<T, RateLimited>) {
    ++counters.rate_limited;
  } else if constexpr (std::is_same_v<T, Missed>) {
    counters.missed += event.count;
  } else if constexpr (std::is_same_v<T, StaleWord>) {
    ++counters.late;
  } else if constexpr (std::is_same_v<T, Finalized>) {
    counters.finalized += event.count;
  } else if constexpr (std::is_same_v<T, StoreFailed>) {
    ++counters.store_failures;
  } else if constexpr (std::is_same_v<T, SweepStopped>) {
    counters.swept += event.looked_at;
    counters.repaired += event.repaired;
  } else if constexpr (std::is_same_v<T, JobChanged>) {
    if (event.state == JobState::dlq) ++counters.dlq;
  }
}

void add(Counters& totals, const Counters& counts);

}  // namespace carillon
