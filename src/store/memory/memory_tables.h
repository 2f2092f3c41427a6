// All that the memory store keeps.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "store/memory/journaled_map.h"
#include "store/rows.h"

namespace carillon {

struct MemoryTables {
  MemoryTables() = default;
  MemoryTables(const MemoryTables&) = delete;
  MemoryTables& operator=(const MemoryTables&) = delete;
  ~MemoryTables() = default;

  UndoLog undo;

  // Names are not taken back: a number that was given out means its name for good.
  std::map<std::int64_t, Lane> lanes;
  std::map<std::int64_t, std::string> types;
  // Of live jobs, in the order of time.
  std::set<std::pair<Instant, JobId>> deadlines;
  std::set<std::pair<Instant, JobId>> far_off;  // by run_at
  JournaledMap<JobId, JobRow> jobs{undo, [this](const JobRow* before, const JobRow* after) { index(before, after); }};
  JournaledMap<JobId, std::string> payloads{undo};  // of live and archived jobs
  JournaledMap<JobId, ArchiveRow> archive{undo};
  JournaledMap<std::pair<JobId, std::int64_t>, AttemptRow> attempts{undo};  // by job and token
  JournaledMap<JobId, LeaseRow> leases{undo};
  JournaledMap<std::tuple<std::string, TypeId, std::string>, KeyRow> keys{undo};
  JournaledMap<std::pair<std::string, std::string>, EffectRow> effects{undo};
  JournaledMap<std::pair<JobId, JobId>, bool> dependencies{undo};  // by parent and child
  JournaledMap<std::pair<LaneId, JobState>, std::int64_t> counts{undo};
  JournaledMap<ScheduleId, ScheduleRow> schedules{undo};
  std::int64_t last_schedule = 0;                              // no id is given twice
  std::set<std::tuple<ScheduleId, Instant, std::string>> due;  // subjects by their next time
  JournaledMap<SubjectKey, SubjectRow> subjects{
      undo, [this](const SubjectRow* before, const SubjectRow* after) { index(before, after); }};
  JournaledMap<OutcomeKey, OutcomeRow> outcomes{undo};
  JournaledMap<std::tuple<ScheduleId, std::int64_t, JobState>, std::int64_t> outcome_counts{undo};  // by local minute
  JournaledMap<DocumentKey, Document> documents{undo};
  JournaledMap<std::int64_t, AuditRow> audit{undo};

 private:
  void index(const JobRow* before, const JobRow* after) {
    if (before && before->deadline) deadlines.erase({*before->deadline, before->id});
    if (before && before->later) far_off.erase({before->run_at, before->id});
    if (after && after->deadline) deadlines.emplace(*after->deadline, after->id);
    if (after && after->later) far_off.emplace(after->run_at, after->id);
  }
  void index(const SubjectRow* before, const SubjectRow* after) {
    if (before && before->next_at) due.erase({before->schedule, *before->next_at, before->subject});
    if (after && after->next_at) due.emplace(after->schedule, *after->next_at, after->subject);
  }
};

}  // namespace carillon
