// Why a job or schedule is where it is, from what is stored. (invariant 33)
#pragma once

#include <carillon/explain.h>
#include <carillon/job_info.h>

#include <optional>
#include <string>
#include <vector>

#include "core/gate.h"
#include "core/preview.h"
#include "core/schedule.h"
#include "store/job_text.h"
#include "store/rows.h"
#include "store/subject_text.h"

namespace carillon {

struct JobFacts {
  JobInfo job;
  std::vector<DeferralRecord> deferrals;
  std::optional<Closing> gate;             // closed for it now
  std::optional<std::string> held_by;      // limit:NAME, cap:tenant, paused, …: what holds its lane
  std::optional<std::string> schedule_is;  // paused or disabled
  bool subject_is_disabled = false;
  Instant now;
};
Explanation explain_job(const JobFacts& facts);

// Paused or disabled.
std::optional<std::string> standstill_of(const ScheduleRow& row, Instant now);

struct ScheduleFacts {
  ScheduleRow row;
  std::optional<Schedule> schedule;     // filled with its defaults
  std::optional<SubjectRow> subject;    // the only one, or the one that was asked for
  SubjectState state;                   // of it
  std::size_t open_windows = 0;         // of it
  std::optional<PreviewItem> next;      // of it, from now on
  std::optional<Explanation> open_job;  // of it
  std::vector<OutcomeRow> outcomes;     // of it, the latest, oldest first
  std::optional<SubjectRow> first_due;  // of many
  Instant now;
};
Explanation explain_schedule(const ScheduleFacts& facts);

}  // namespace carillon
