// The one table of moves between the states of a job. SQL checks, the documentation's diagram and the page follow from
// it. The states themselves: carillon/job_state.h.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "carillon/job_state.h"

namespace carillon {

std::optional<JobState> job_state_from(std::string_view name);

// The states that a job may move to; none from a final one. (invariant 14)
std::span<const JobState> successors(JobState state);
bool can_move(JobState from, JobState to);

}  // namespace carillon
