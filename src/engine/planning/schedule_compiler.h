// Definitions as the planner uses them: read once, filled with defaults, their timetables made.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "core/schedules/schedule.h"
#include "core/triggers/timetable.h"
#include "engine/upkeep/rule_book.h"
#include "store/rows.h"

namespace carillon {

struct CompiledSchedule {
  Schedule schedule;
  Zone zone = Zone::utc();             // its own, else its tenant's
  std::optional<Timetable> timetable;  // in its zone; not of `after`, nor of those that plan by subject
  Instant created_at;
};

using CompiledPtr = std::shared_ptr<const CompiledSchedule>;

class ScheduleCompiler {
 public:
  explicit ScheduleCompiler(const RuleBook& rules) : rules_(rules) {}
  ScheduleCompiler(const ScheduleCompiler&) = delete;
  ScheduleCompiler& operator=(const ScheduleCompiler&) = delete;
  ~ScheduleCompiler() = default;

  // It was checked when it was put; a zone that is gone since is refused here.
  Result<CompiledPtr> compile(const ScheduleRow& row);
  // The same without a place in the cache: of a definition that was replaced.
  Result<CompiledPtr> compile_once(const ScheduleRow& row) const;
  void forget(ScheduleId id) { known_.erase(id); }

 private:
  struct Known {
    std::uint64_t print = 0;  // of what it was made from
    JobDefaults defaults;     // of its job
    CompiledPtr compiled;
  };

  const RuleBook& rules_;
  std::map<ScheduleId, Known> known_;
};

}  // namespace carillon
