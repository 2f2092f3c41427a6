// What follows from what happened: dependents, jobs at a cutoff, the next windows, what was learnt.
//
// Every method is called inside of a round's transaction.
#pragma once

#include <string_view>

#include "engine/planning/due_planner.h"
#include "engine/planning/schedule_compiler.h"
#include "engine/planning/schedule_index.h"
#include "engine/planning/subject_planner.h"
#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

class FollowUps {
 public:
  FollowUps(Store& store, ScheduleCompiler& compiler, SubjectPlanner& subjects, ScheduleIndex& index, DuePlanner& due)
      : store_(store), compiler_(compiler), subjects_(subjects), index_(index), due_(due) {}
  FollowUps(const FollowUps&) = delete;
  FollowUps& operator=(const FollowUps&) = delete;
  ~FollowUps() = default;

  // A job of a schedule is done: what comes after it is made in the same transaction (invariants 30, 31).
  Result<void> parent_done(Round& round, const LeasedJob& parent);
  // What was learnt about a subject may move its next time.
  Result<void> subject_learnt(Round& round, const LeasedJob& job);
  Result<void> learnt(Round& round, const Ruling& ruling, SubjectRow subject);
  // Occurrences have got their outcomes, or were parked, in this transaction: the job at a cutoff, the next windows.
  Result<void> follow(Round& round);
  // One that a sweep stopped at gets the time that it should have. True if something was wrong.
  Result<bool> put_right(Round& round, const SweptSubject& swept);

 private:
  Result<void> follow_slot(Round& round, const FinalizedSlot& slot);
  Result<void> open_windows_again(Round& round, ScheduleId schedule, std::string_view name);

  Store& store_;
  ScheduleCompiler& compiler_;
  SubjectPlanner& subjects_;
  ScheduleIndex& index_;
  DuePlanner& due_;
};

}  // namespace carillon
