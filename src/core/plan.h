// What becomes of one subject of a schedule at `now`: its due occurrences turn into jobs or into outcomes, and its next
// time moves on. A pure decision; the engine reads the facts and writes the plan in one transaction. (invariant 19)
//
// Two rules meet here. The misfire policy says which of the due occurrences run at all; the overlap policy then lets
// each of these, oldest first, meet the jobs that are still open. Every due occurrence ends in exactly one place: a
// job, or a closed range. (invariants 1, 3)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/job.h"
#include "core/job_state.h"
#include "core/schedule.h"
#include "core/timetable.h"

namespace carillon {

// A job of the subject that is not final.
struct OpenJob {
  JobId id;
  JobState state = JobState::queued;
};

// An occurrence, or a range of them, that ends without a job.
struct ClosedOccurrences {
  Instant first;
  std::optional<Instant> until;  // of a range: its last one
  std::int64_t count = 1;        // at least so many: a long range may cost too much to count
  JobState outcome = JobState::missed;
  std::string reason;  // (invariant 33)
};

inline constexpr std::string_view kReasonMisfire = "misfire";
inline constexpr std::string_view kReasonOverlap = "overlap";

// What the plan does to a job that is open.
struct PlannedChange {
  enum class What : std::uint8_t { cancel, skip };
  JobId job;
  What what = What::cancel;
  friend bool operator==(const PlannedChange&, const PlannedChange&) = default;
};

struct PlanFacts {
  std::string_view tenant;
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-const-or-ref-data-members): lives as long as one call
  const Schedule& schedule;
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-const-or-ref-data-members)
  const Timetable& timetable;
  std::string_view subject;
  Instant next_at;                  // the first occurrence that is not planned yet
  std::optional<Instant> position;  // the newest one that ever was; never planned again
  Instant now;
  std::vector<OpenJob> open;          // newest last; one that waits stands after the one that it waits for
  std::function<JobId()> new_job_id;  // called for a job that another one of the plan waits for
};

struct SubjectPlan {
  std::vector<NewJob> jobs;  // by slot; one that waits for another stands after it
  std::vector<ClosedOccurrences> closed;
  std::vector<PlannedChange> changes;
  std::optional<Instant> next_at;  // nothing: exhausted. Not after `now`: there was more than fits, plan again
  std::optional<Instant> position;
};

SubjectPlan plan_subject(const PlanFacts& facts);

// The job of a schedule that follows another one, whose job `parent` is done. (invariant 31)
NewJob plan_after(std::string_view tenant, const Schedule& dependent, std::string_view subject, Instant parent_slot,
                  JobId parent);

// A run by hand, now. It belongs to no occurrence, so that it cannot use one up. `payload` stands for the template's.
inline constexpr int kPriorityManual = 2;
NewJob manual_job(std::string_view tenant, const Schedule& schedule, std::string_view subject,
                  std::optional<std::string> payload, std::optional<int> priority);

// Where planning begins when a schedule is made, edited or resumed: strictly after `now`, so that the time before has
// no occurrences, and after `position`, so that none comes twice. (invariants 1, 32)
std::optional<Instant> first_time(const Timetable& timetable, Instant now, std::optional<Instant> position);

}  // namespace carillon
