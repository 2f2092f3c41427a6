#include "engine/planning/schedule_compiler.h"

#include "base/hash.h"
#include "core/schedules/subject.h"

namespace carillon {

Result<CompiledPtr> ScheduleCompiler::compile_once(const ScheduleRow& row) const {
  auto compiled = std::make_shared<CompiledSchedule>();
  Schedule& schedule = compiled->schedule;
  TRY_ASSIGN(schedule, parse_schedule(row.definition));
  TRY(settle_times(schedule, rules_.zone_of(row.tenant)));
  fill(schedule.job, rules_.job_defaults());
  if (schedule.on_cutoff) fill(*schedule.on_cutoff, rules_.job_defaults());
  fill(schedule, rules_.windows());
  compiled->created_at = row.created_at;
  TRY_ASSIGN(compiled->zone, zone_of(schedule, {}, rules_.zone_of(row.tenant)));
  if (has_times(schedule) && !plans_by_subject(schedule.trigger)) {
    TRY_ASSIGN(compiled->timetable, timetable_in(schedule, compiled->zone, row.created_at));
  }
  return compiled;
}

Result<CompiledPtr> ScheduleCompiler::compile(const ScheduleRow& row) {
  const Zone zone = rules_.zone_of(row.tenant);
  // Of what it depends on, and not of the revision alone: a write that failed may have had the same one.
  const std::string created_at = std::to_string(row.created_at.time_since_epoch().count());
  const std::uint64_t print = stable_hash({row.definition, zone.name(), created_at});
  JobDefaults defaults = rules_.job_defaults();
  const auto known = known_.find(row.id);
  if (known != known_.end() && known->second.print == print && known->second.defaults == defaults) {
    return known->second.compiled;
  }
  TRY_ASSIGN(CompiledPtr compiled, compile_once(row));
  known_[row.id] = {.print = print, .defaults = std::move(defaults), .compiled = compiled};
  return compiled;
}

}  // namespace carillon
