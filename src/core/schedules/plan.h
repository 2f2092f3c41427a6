// What becomes of one subject of a schedule at `now`: its due occurrences turn into jobs or into outcomes, and its next
// time moves on. A pure decision; the engine reads the facts and writes the plan in one transaction. (invariant 19)
//
// `plan_subject` is for a subject that is due, `anchor_subject` for one that was made or changed. A kind that has no
// timetable decides both in its own file (kinds/). Every due occurrence ends in exactly one place: a job, or a closed
// range. (invariants 1, 3)
//
// The kinds of the wall clock know two rules. The misfire policy says which of the due occurrences run at all; the
// overlap policy then lets each of these, oldest first, meet the jobs that are still open.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/jobs/job.h"
#include "core/jobs/job_state.h"
#include "core/schedules/schedule.h"
#include "core/schedules/subject.h"
#include "core/time/minute_count.h"
#include "core/time/zone.h"
#include "core/triggers/timetable.h"

namespace carillon {

// A job of the subject that is not final.
struct OpenJob {
  JobId id;
  JobState state = JobState::queued;
};

// An occurrence, or a range of them, that ends without a job.
struct ClosedOccurrences {
  Instant first;
  std::optional<Instant> until;  // of a range: its last one; of windows: the end
  std::int64_t count = 1;        // at least so many: a long range may cost too much to count
  JobState outcome = JobState::missed;
  std::string reason;                        // (invariant 33)
  std::optional<std::int64_t> local_minute;  // of the first one; of one that extends: of what is added
  std::vector<MinuteCount> minutes;          // of a range: where its occurrences are counted; none: where the first is
  // It becomes part of PlanFacts::last_closed, which begins at `first` and now reaches to `until`; `count` is what is
  // added.
  bool extends = false;
  friend bool operator==(const ClosedOccurrences&, const ClosedOccurrences&) = default;
};

inline constexpr std::string_view kReasonMisfire = "misfire";
inline constexpr std::string_view kReasonOverlap = "overlap";
inline constexpr std::string_view kReasonDeadline = "deadline";        // a delivery whose window passed unseen
inline constexpr std::string_view kReasonRescheduled = "rescheduled";  // a day that a change of due or zone left out
inline constexpr std::string_view kReasonMaxAge = "max_age";
inline constexpr std::string_view kReasonCursorSet = "cursor_set";
inline constexpr std::string_view kReasonCheckOpen = "check_open";

// What the plan does to a job that is open.
struct PlannedChange {
  enum class What : std::uint8_t { cancel, skip };
  JobId job;
  What what = What::cancel;
  friend bool operator==(const PlannedChange&, const PlannedChange&) = default;
};

// A range that is closed already and may grow.
struct ClosedRange {
  Instant first;
  Instant last;
  std::string reason;
};

struct PlanFacts {
  std::string_view tenant;
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-const-or-ref-data-members): lives as long as one call
  const Schedule& schedule;              // filled with its defaults
  const Timetable* timetable = nullptr;  // of a schedule that has one, in the subject's zone
  std::string_view subject;
  std::optional<Instant> next_at;  // when the subject is due; of the wall clock: the first occurrence not planned yet
  // All up to it is planned, and never again. Of the wall clock and of checks: the newest slot; of deliveries: the
  // newest day, as its midnight in UTC; of windows: 1 us before the end of what is planned.
  std::optional<Instant> position;
  Instant now;
  std::vector<OpenJob> open;          // newest last; one that waits comes after the one that it waits for
  std::function<JobId()> new_job_id;  // called for a job that another one of the plan waits for
  SubjectOverrides overrides{};
  Zone zone = Zone::utc();                 // see zone_of
  std::optional<Instant> cursor;           // of windows: all before it is closed
  std::size_t open_windows = 0;            // from the cursor on, neither closed nor parked
  std::optional<Instant> expected_at;      // of adaptive
  std::optional<ClosedRange> last_closed;  // of adaptive: what the newest slot ended as, if that never was a job
};

struct SubjectPlan {
  std::vector<NewJob> jobs;  // by slot; one that waits for another comes after it
  std::vector<ClosedOccurrences> closed;
  std::vector<PlannedChange> changes;
  // Nothing: exhausted, not enabled, or as many windows are open as may be. Not after `now`: there was more than fits,
  // or the subject was anchored in the past: plan again.
  std::optional<Instant> next_at;
  std::optional<Instant> position;     // as it is to be; never falls
  std::optional<Instant> cursor;       // of windows: where it is set to; nothing: it stays
  std::vector<NewJob> follow_ups;      // of no occurrence: `on_cutoff` of a day that closes without a job
  std::optional<std::string> cadence;  // of adaptive: the band in force, "otherwise", or nothing: it stays
};

// Finds out where the occurrences of a range are counted, from its first one to `last`: those of the timetable.
void spread_closed(ClosedOccurrences& range, const Timetable& timetable, Instant last, Instant now);

// What becomes of a subject that is due, by its kind; and of one whose times are those of a timetable.
SubjectPlan plan_subject(const PlanFacts& facts);
SubjectPlan plan_by_timetable(const PlanFacts& facts);

// What happened to a subject, or to its schedule.
struct SubjectChange {
  enum class What : std::uint8_t {
    made,
    edited,   // the schedule, the subject, or what is known of it (expected_at, status)
    resumed,  // was paused or not enabled: the time until then has no occurrences (invariant 32)
  };
  What what = What::made;
  Instant at;                         // not after `now`; what has fallen due since is planned next
  std::optional<Instant> cursor_end;  // of windows: see check_cursor
};

// Where planning begins, or goes on. What was due before an edit must have been planned before it.
SubjectPlan anchor_subject(const PlanFacts& facts, const SubjectChange& change);

// The job of a schedule that follows another one, whose job `parent` is done. (invariant 31)
NewJob plan_after(std::string_view tenant, const Schedule& dependent, std::string_view subject, Instant parent_slot,
                  JobId parent, const SubjectOverrides& overrides = {});

// A run by hand, now. It belongs to no occurrence, so that it cannot use one up. `payload` is merged over the
// template's and the subject's. Without a `priority` it comes before others, and never after what the plan would make.
inline constexpr int kPriorityManual = 2;
NewJob manual_job(std::string_view tenant, const Schedule& schedule, std::string_view subject,
                  const std::optional<std::string>& payload, std::optional<int> priority,
                  const SubjectOverrides& overrides = {});

// Backfilled work comes after what is due now.
inline constexpr int kPriorityBackfilled = 4;

// Where planning begins when a schedule is made, edited or resumed: strictly after `now`, so that the time before has
// no occurrences, and after `position`, so that none comes twice. (invariants 1, 32)
std::optional<Instant> first_time(const Timetable& timetable, Instant now, std::optional<Instant> position);

}  // namespace carillon
