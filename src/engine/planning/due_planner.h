// Turns due occurrences into jobs: schedule by schedule, each with its share of a round. What becomes of one subject is
// decided in SubjectPlanner.
//
// Every method is called inside of a round's transaction.
#pragma once

#include "engine/planning/replans.h"
#include "engine/planning/schedule_compiler.h"
#include "engine/planning/schedule_index.h"
#include "engine/planning/subject_planner.h"
#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

class DuePlanner {
 public:
  DuePlanner(Store& store, ScheduleCompiler& compiler, SubjectPlanner& subjects, Replans& replans, ScheduleIndex& index)
      : store_(store), compiler_(compiler), subjects_(subjects), replans_(replans), index_(index) {}
  DuePlanner(const DuePlanner&) = delete;
  DuePlanner& operator=(const DuePlanner&) = delete;
  ~DuePlanner() = default;

  // Plans what is due: at most so many schedules, and a bounded number of subjects.
  struct Step {
    std::size_t schedules_max = 0;
    bool leave_deliveries = false;  // earlier cutoffs are not finalized yet: in their order (invariant 3)
  };
  struct Stepped {
    std::uint64_t looked_at = 0;  // subjects
    bool is_behind = false;       // there may be more due than was planned
  };
  Result<Stepped> step(Round& round, const Step& asked);
  Result<void> plan_subject(Round& round, const Ruling& ruling, const SubjectRow& subject);
  Result<void> plan_what_is_due(Round& round, const ScheduleRow& row);
  // An edit reaches this subject.
  Result<void> bring_up_to_date(Round& round, const Ruling& ruling, Replan& replan, const SubjectRow& subject);

 private:
  Result<Stepped> plan_schedule(Round& round, const ScheduleRow& row, std::size_t most);

  Store& store_;
  ScheduleCompiler& compiler_;
  SubjectPlanner& subjects_;
  Replans& replans_;
  ScheduleIndex& index_;
  // The last schedule with more due than fits: others come first. A round that fails may move it: that costs fairness
  // once, and nothing else.
  ScheduleId served_;
};

}  // namespace carillon
