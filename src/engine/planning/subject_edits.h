// Subjects are put, changed, imported and deleted.
//
// Every method is called inside of a round's transaction.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/schedules/subject.h"
#include "engine/calls/import_lines.h"
#include "engine/planning/due_planner.h"
#include "engine/planning/held_jobs.h"
#include "engine/planning/manual_runs.h"
#include "engine/planning/replans.h"
#include "engine/planning/schedule_compiler.h"
#include "engine/planning/schedule_index.h"
#include "engine/planning/subject_planner.h"
#include "engine/round/round.h"
#include "engine/upkeep/rule_book.h"
#include "store/store.h"

namespace carillon {

// `conflict` if lines that were checked by its rules are about to be written: see ImportWork.
Result<void> check_no_import(Store& store, std::string_view tenant, std::string_view schedule);

class SubjectEdits {
 public:
  SubjectEdits(Store& store, const RuleBook& rules, ScheduleCompiler& compiler, SubjectPlanner& subjects,
               HeldJobs& held, Replans& replans, ScheduleIndex& index, DuePlanner& due, ManualRuns& manual_runs)
      : store_(store),
        rules_(rules),
        compiler_(compiler),
        subjects_(subjects),
        held_(held),
        replans_(replans),
        index_(index),
        due_(due),
        manual_runs_(manual_runs) {}
  SubjectEdits(const SubjectEdits&) = delete;
  SubjectEdits& operator=(const SubjectEdits&) = delete;
  ~SubjectEdits() = default;

  struct SubjectCall {
    std::string_view tenant;
    std::string_view schedule;
    std::string_view subject;
    std::string_view body;
    std::optional<std::int64_t> if_version;
    bool patches = false;  // else it replaces
    std::string_view actor;
  };
  struct SubjectChanged {
    PutSubject put;
    std::optional<SubjectRow> before;
    std::optional<EnqueuedJob> triggered;  // the body said so
  };
  Result<SubjectChanged> put_subject(Round& round, const SubjectCall& call);
  // Whether all of them can be; an error says in `line` which one it is about. What is written afterwards may have
  // been checked in an earlier round.
  Result<void> check_import(Round& round, std::string_view tenant, std::string_view schedule,
                            std::span<const ImportLine> lines);
  Result<ImportedSubjects> write_import(Round& round, std::string_view tenant, std::string_view schedule,
                                        std::span<const ImportLine> lines);
  // Whether it has subjects.
  Result<bool> fans_out(std::string_view tenant, std::string_view schedule);
  // What has not started is cancelled.
  Result<void> delete_subject(Round& round, std::string_view tenant, std::string_view schedule,
                              std::string_view subject);

 private:
  Result<ScheduleRow> with_fan_out(std::string_view tenant, std::string_view name, CompiledPtr& compiled);
  Result<void> check_times_of(const Ruling& ruling, const SubjectText& text, Instant now);
  Result<void> check_can_run(Round& round, const Ruling& ruling, const SubjectText& text);
  Result<void> check_cursor_of(const Ruling& ruling, const SubjectText& text, const SubjectRow& known, Instant now);
  Result<PutSubject> change_subject(Round& round, const Ruling& ruling, const SubjectText& text, SubjectRow known);
  Result<PutSubject> make_subject(Round& round, const Ruling& ruling, const SubjectText& text);
  // A new one as it is to be stored, with the time that it begins at.
  Result<SubjectEdit> edit_of_new(const Ruling& ruling, const SubjectText& text, Instant now);
  Result<PutSubject> made_subject(Round& round, const Ruling& ruling, const SubjectText& text, const SubjectEdit& edit,
                                  PutSubject made);
  Result<std::vector<std::optional<SubjectRow>>> known_of(const ScheduleRow& row, std::span<const ImportLine> lines);
  // An edit of the schedule is on its way to its subjects, and this one was written by the new rules already.
  Result<void> stand_behind_edit(const Ruling& ruling, PutSubject& put);

  Store& store_;
  const RuleBook& rules_;
  ScheduleCompiler& compiler_;
  SubjectPlanner& subjects_;
  HeldJobs& held_;
  Replans& replans_;
  ScheduleIndex& index_;
  DuePlanner& due_;
  ManualRuns& manual_runs_;
};

}  // namespace carillon
