// Why a job or schedule is where it is, from what is stored. (invariant 33)
#pragma once

#include <carillon/explain.h>
#include <carillon/job_info.h>

#include <optional>
#include <string>
#include <vector>

#include "core/gate.h"
#include "core/schedule.h"
#include "store/job_text.h"
#include "store/rows.h"

namespace carillon {

struct JobFacts {
  JobInfo job;
  std::vector<DeferralRecord> deferrals;
  std::optional<Closing> gate;             // closed for it now
  std::optional<std::string> held_by;      // limit:NAME, cap:tenant, paused, …: what holds its lane
  std::optional<std::string> schedule_is;  // paused or disabled
  Instant now;
};
Explanation explain_job(const JobFacts& facts);

struct ScheduleFacts {
  ScheduleRow row;
  std::optional<Schedule> schedule;
  std::optional<SubjectRow> subject;
  std::vector<OutcomeRow> outcomes;  // the latest, oldest first
  Instant now;
};
Explanation explain_schedule(const ScheduleFacts& facts);

}  // namespace carillon
