// What is planned behind what is due: edits and new zones on their way to their subjects, and the cancelling of a
// deleted schedule's jobs. It waits for nothing, and goes a slice at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "engine/planning/due_planner.h"
#include "engine/planning/replans.h"
#include "engine/planning/schedule_compiler.h"
#include "engine/planning/schedule_index.h"
#include "engine/planning/subject_planner.h"
#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

class PlanBackground {
 public:
  PlanBackground(Store& store, ScheduleCompiler& compiler, SubjectPlanner& subjects, Replans& replans,
                 ScheduleIndex& index, DuePlanner& due)
      : store_(store), compiler_(compiler), subjects_(subjects), replans_(replans), index_(index), due_(due) {}
  PlanBackground(const PlanBackground&) = delete;
  PlanBackground& operator=(const PlanBackground&) = delete;
  ~PlanBackground() = default;

  // Schedules of a tenant ("": of all) that name no zone are planned anew from now on.
  void zone_changed(std::string_view tenant);
  // After the commit: jobs of the deleted schedule are cancelled from here on.
  void go_on_cancelling(Round& round, ScheduleId id, const OutcomeKey& from);

  bool has_work() const { return !rezone_.empty() || !replans_.empty() || !cancelling_.empty(); }
  // Inside of a round's transaction.
  Result<void> step(Round& round);

 private:
  Result<void> rezone(Round& round);
  Result<void> replan_step(Round& round);
  Result<void> cancel_step(Round& round);

  Store& store_;
  ScheduleCompiler& compiler_;
  SubjectPlanner& subjects_;
  Replans& replans_;
  ScheduleIndex& index_;
  DuePlanner& due_;
  std::uint64_t zone_changes_ = 0;
  std::map<ScheduleId, std::uint64_t> rezone_;   // by which change
  std::map<ScheduleId, OutcomeKey> cancelling_;  // where the cancelling of a deleted schedule's jobs stands
};

}  // namespace carillon
