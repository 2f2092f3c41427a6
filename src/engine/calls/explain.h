// Why a job or schedule is where it is, from what is stored. (invariant 33)
#pragma once

#include <carillon/explain.h>
#include <carillon/job_info.h>

#include <optional>
#include <string>
#include <vector>

#include "core/schedules/schedule.h"
#include "core/triggers/preview.h"
#include "engine/calls/holds.h"
#include "store/job_detail.h"
#include "store/rows.h"
#include "store/subject_state.h"

namespace carillon {

struct JobFacts {
  JobInfo job;
  std::vector<DeferralRecord> deferrals;
  std::vector<Hold> holds;      // the one that binds last
  bool waits_for_slot = false;  // of one that nothing holds: a handler here runs it; else a worker outside must ask
  Instant now;
};
Explanation explain_job(const JobFacts& facts);

// How many occurrences went wrong in a row, up to the last one. Of one subject, or over all of them.
struct Trouble {
  std::optional<JobState> last_outcome;
  std::int64_t error_count = 0;
  std::string last_error;
};

struct ScheduleFacts {
  ScheduleRow row;
  std::optional<Schedule> schedule;     // filled with its defaults
  std::optional<SubjectRow> subject;    // the only one, or the one that was asked for
  SubjectState state;                   // of it
  Trouble trouble;                      // of it, or of all
  std::size_t open_windows = 0;         // of it
  std::optional<PreviewItem> next;      // of it, from now on
  std::optional<Explanation> open_job;  // of it
  std::vector<OutcomeRow> outcomes;     // of it, the latest, oldest first
  std::optional<SubjectRow> first_due;  // of many
  Instant now;
};
Explanation explain_schedule(const ScheduleFacts& facts);

}  // namespace carillon
