// The states of a job. A job begins as waiting or queued, is leased to a worker as processing, and ends in a final
// state; dlq is parked, not final.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace carillon {

enum class JobState : std::uint8_t {
  waiting,     // for the jobs that it depends on
  queued,      // to be run at its time
  processing,  // leased to a worker
  dlq,         // parked until an operator decides
  done,        // final, as all below
  skipped,
  cancelled,
  cutoff_reached,
  missed,
};

inline constexpr std::array kJobStates{JobState::waiting,   JobState::queued,         JobState::processing,
                                       JobState::dlq,       JobState::done,           JobState::skipped,
                                       JobState::cancelled, JobState::cutoff_reached, JobState::missed};

// As in SQL, JSON and the docs.
std::string_view to_string(JobState state);

// A final state is never left.
bool is_final(JobState state);

}  // namespace carillon
