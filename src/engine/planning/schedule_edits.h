// Schedules are put, paused, resumed and deleted. What was due before is planned first.
//
// Every method is called inside of a round's transaction.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/planning/due_planner.h"
#include "engine/planning/plan_background.h"
#include "engine/planning/replans.h"
#include "engine/planning/schedule_compiler.h"
#include "engine/planning/schedule_index.h"
#include "engine/planning/subject_planner.h"
#include "engine/round/round.h"
#include "engine/upkeep/rule_book.h"
#include "store/store.h"

namespace carillon {

class ScheduleEdits {
 public:
  ScheduleEdits(Store& store, const RuleBook& rules, ScheduleCompiler& compiler, SubjectPlanner& subjects,
                Replans& replans, ScheduleIndex& index, DuePlanner& due, PlanBackground& background)
      : store_(store),
        rules_(rules),
        compiler_(compiler),
        subjects_(subjects),
        replans_(replans),
        index_(index),
        due_(due),
        background_(background) {}
  ScheduleEdits(const ScheduleEdits&) = delete;
  ScheduleEdits& operator=(const ScheduleEdits&) = delete;
  ~ScheduleEdits() = default;

  struct Put {
    std::string_view tenant;
    std::string_view definition;
    std::optional<std::int64_t> if_revision;
  };
  struct PutSchedule {
    ScheduleRow row;
    std::optional<std::string> definition_before;  // nothing: there was none
  };
  Result<PutSchedule> put(Round& round, const Put& put);
  // Without an end: until resumed.
  Result<ScheduleRow> pause(Round& round, std::string_view tenant, std::string_view name, std::optional<Instant> until);
  // From now on: paused time has no occurrences (invariant 32).
  Result<ScheduleRow> resume(Round& round, std::string_view tenant, std::string_view name);
  Result<DeletedSchedule> remove(Round& round, std::string_view tenant, std::string_view name);

 private:
  Result<void> check_after(std::string_view tenant, const Schedule& schedule);
  Result<void> check_limits_of(std::string_view tenant, const Schedule& schedule, const ScheduleRow* before);
  Result<void> check_definition(const Put& put, const Schedule& schedule, const ScheduleRow* before, Instant now);
  Result<ScheduleRow> take_effect(Round& round, ScheduleRow row, const ScheduleRow* before);

  Store& store_;
  const RuleBook& rules_;
  ScheduleCompiler& compiler_;
  SubjectPlanner& subjects_;
  Replans& replans_;
  ScheduleIndex& index_;
  DuePlanner& due_;
  PlanBackground& background_;
};

}  // namespace carillon
