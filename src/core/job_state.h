// The states of a job and the one table of moves between them. SQL checks, the documentation's diagram and the page
// follow from this file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
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
std::optional<JobState> job_state_from(std::string_view name);

// A final state is never left.
bool is_final(JobState state);

// The states that a job may move to; none from a final one. (invariant 14)
std::span<const JobState> successors(JobState state);
bool can_move(JobState from, JobState to);

// The states in which a row may first be written: live ones, and outcomes of occurrences that never ran.
bool can_begin(JobState state);

}  // namespace carillon
