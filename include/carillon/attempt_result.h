// How one attempt of a job ended. What that makes of the job depends on its retry policy.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace carillon {

enum class AttemptResult : std::uint8_t { ok, error, timeout, lease_lost, released, cancelled, rate_limited };

inline constexpr std::array kAttemptResults{
    AttemptResult::ok,       AttemptResult::error,     AttemptResult::timeout,     AttemptResult::lease_lost,
    AttemptResult::released, AttemptResult::cancelled, AttemptResult::rate_limited};

// As in SQL, JSON and the docs.
std::string_view to_string(AttemptResult result);

}  // namespace carillon
