#include "core/jobs/job_state.h"

#include <algorithm>

#include "base/check.h"

namespace carillon {

namespace {

using enum JobState;

constexpr std::array kFromWaiting{queued, skipped, cancelled, cutoff_reached};
constexpr std::array kFromQueued{processing, skipped, cancelled, cutoff_reached};
constexpr std::array kFromProcessing{queued, dlq, done, skipped, cancelled, cutoff_reached};
constexpr std::array kFromDlq{queued, cancelled, cutoff_reached};

}  // namespace

std::string_view to_string(JobState state) {
  switch (state) {
    case waiting: return "waiting";
    case queued: return "queued";
    case processing: return "processing";
    case dlq: return "dlq";
    case done: return "done";
    case skipped: return "skipped";
    case cancelled: return "cancelled";
    case cutoff_reached: return "cutoff_reached";
    case missed: return "missed";
  }
  UNREACHABLE();
}

std::optional<JobState> job_state_from(std::string_view name) {
  const auto* const found = std::ranges::find_if(kJobStates, [&](JobState s) { return to_string(s) == name; });
  return found == kJobStates.end() ? std::nullopt : std::optional(*found);
}

bool is_final(JobState state) { return successors(state).empty(); }

std::span<const JobState> successors(JobState state) {
  switch (state) {
    case waiting: return kFromWaiting;
    case queued: return kFromQueued;
    case processing: return kFromProcessing;
    case dlq: return kFromDlq;
    case done:
    case skipped:
    case cancelled:
    case cutoff_reached:
    case missed: return {};
  }
  UNREACHABLE();
}

bool can_move(JobState from, JobState to) { return std::ranges::find(successors(from), to) != successors(from).end(); }

}  // namespace carillon
