#include "core/schedules/overlap.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/mutant.h"

namespace carillon {

std::string_view to_string(OverlapPolicy policy) {
  switch (policy) {
    case OverlapPolicy::allow: return "allow";
    case OverlapPolicy::skip: return "skip";
    case OverlapPolicy::queue_one: return "queue_one";
    case OverlapPolicy::replace: return "replace";
  }
  UNREACHABLE();
}

Result<OverlapPolicy> parse_overlap(std::string_view text) {
  for (const auto policy :
       {OverlapPolicy::allow, OverlapPolicy::skip, OverlapPolicy::queue_one, OverlapPolicy::replace}) {
    if (text == to_string(policy)) return policy;
  }
  return invalid_request(fmt::format("overlap {}: allowed are allow, skip, queue_one, replace", quoted(text)));
}

bool is_open(JobState state) {
  return !is_final(state) && (state != JobState::dlq || mutant(Mutant::dlq_counts_as_open));
}

OverlapDecision on_overlap(OverlapPolicy policy, std::optional<JobState> previous, bool one_waits) {
  using enum OverlapDecision::New;
  if (!previous || !is_open(*previous)) return {.occurrence = run};
  switch (policy) {
    case OverlapPolicy::allow: return {.occurrence = run};
    case OverlapPolicy::skip: return {.occurrence = skipped};
    case OverlapPolicy::queue_one: return {.occurrence = wait, .cancel_previous = false, .skip_waiting = one_waits};
    case OverlapPolicy::replace: return {.occurrence = wait, .cancel_previous = true, .skip_waiting = one_waits};
  }
  UNREACHABLE();
}

}  // namespace carillon
