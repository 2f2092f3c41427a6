// What a due occurrence does while the previous job of its subject is still open (neither final nor in the DLQ).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "core/jobs/job_state.h"

namespace carillon {

enum class OverlapPolicy : std::uint8_t { allow, skip, queue_one, replace };

Result<OverlapPolicy> parse_overlap(std::string_view text);
std::string_view to_string(OverlapPolicy policy);

// Parked in the DLQ is not open: it may stay there for days, and the series must go on.
bool is_open(JobState state);

struct OverlapDecision {
  enum class New : std::uint8_t {
    run,      // at its time
    wait,     // until the previous one has ended
    skipped,  // recorded, never run
  };
  New occurrence = New::run;
  bool cancel_previous = false;
  bool skip_waiting = false;  // one that waited already is displaced: it becomes `skipped`
};

// `previous`: state of the subject's last job that ran or may run; `one_waits`: another one waits for it already.
OverlapDecision on_overlap(OverlapPolicy policy, std::optional<JobState> previous, bool one_waits);

}  // namespace carillon
