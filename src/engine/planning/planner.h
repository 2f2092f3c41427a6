// Schedules: which are due, and what becomes of their subjects. Each part of it is a class of its own; this is what the
// rest of the engine asks of them.
//
// Every method that takes a Round is called inside of its transaction.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/planning/backfill.h"
#include "engine/planning/due_planner.h"
#include "engine/planning/follow_ups.h"
#include "engine/planning/held_jobs.h"
#include "engine/planning/manual_runs.h"
#include "engine/planning/plan_background.h"
#include "engine/planning/replans.h"
#include "engine/planning/schedule_compiler.h"
#include "engine/planning/schedule_edits.h"
#include "engine/planning/schedule_index.h"
#include "engine/planning/subject_edits.h"
#include "engine/planning/subject_planner.h"
#include "engine/telling/open_days.h"
#include "engine/upkeep/rule_book.h"

namespace carillon {

class Planner {
 public:
  // `asked_to_stop` tells a running attempt that it is to end.
  Planner(Store& store, const RuleBook& rules, std::function<void(Round&, JobId)> asked_to_stop)
      : store_(store),
        compiler_(rules),
        subjects_(store, std::move(asked_to_stop)),
        replans_(store),
        index_(store, compiler_, held_, replans_, open_days_),
        due_(store, compiler_, subjects_, replans_, index_),
        background_(store, compiler_, subjects_, replans_, index_, due_),
        follow_ups_(store, compiler_, subjects_, index_, due_),
        manual_runs_(store, compiler_, subjects_, index_, due_, follow_ups_),
        schedule_edits_(store, rules, compiler_, subjects_, replans_, index_, due_, background_),
        subject_edits_(store, rules, compiler_, subjects_, held_, replans_, index_, due_, manual_runs_),
        backfill_(store, compiler_, subjects_) {}
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;
  ~Planner() = default;

  // ---- What is known ----
  Result<bool> load_followers(Round& round) { return index_.load_followers(round); }
  Result<bool> load(Round& round) { return index_.load(round); }
  // The memory may have missed a change: all of that once more. A subject may have been enabled by a commit whose
  // answer was lost: what subjects hold is let go.
  void load_again() {
    index_.load_again();
    held_.release_subjects();
  }
  // The subjects of a schedule that was edited were on their way when the engine ended.
  void resume_replan(const Document& document) { replans_.resume(document); }
  void zone_changed(std::string_view tenant) { background_.zone_changed(tenant); }

  // ---- What is due ----
  std::optional<Instant> next_due() const { return index_.next_due(); }
  // There is work that waits for nothing: subjects to be re-planned, jobs of deleted schedules.
  bool has_background() const { return background_.has_work(); }
  using Step = DuePlanner::Step;
  using Stepped = DuePlanner::Stepped;
  Result<Stepped> step(Round& round, const Step& asked) {
    TRY(background_.step(round));
    return due_.step(round, asked);
  }

  // Before a round writes: what a commit that failed has left in doubt.
  Result<void> settle_doubts() { return replans_.settle_doubts(); }

  // Deliveries in their window. Each round looks up, before it writes, what is not known yet; tells it; and lets the
  // memory follow once it is committed.
  Result<void> look_up_open_days(const Round& round) { return open_days_.look_up(store_.plans(), round.now); }
  std::uint64_t open_days(const Round& round) const { return open_days_.count_with(round.open_days); }
  void committed(const Round& round) { open_days_.apply(round.open_days); }

  // ---- What people ask ----
  using Put = ScheduleEdits::Put;
  using PutSchedule = ScheduleEdits::PutSchedule;
  Result<PutSchedule> put(Round& round, const Put& put) { return schedule_edits_.put(round, put); }
  Result<ScheduleRow> pause(Round& round, std::string_view tenant, std::string_view name,
                            std::optional<Instant> until) {
    return schedule_edits_.pause(round, tenant, name, until);
  }
  Result<ScheduleRow> resume(Round& round, std::string_view tenant, std::string_view name) {
    return schedule_edits_.resume(round, tenant, name);
  }
  Result<DeletedSchedule> remove(Round& round, std::string_view tenant, std::string_view name) {
    return schedule_edits_.remove(round, tenant, name);
  }
  using Push = ManualRuns::Push;
  Result<EnqueuedJob> trigger(Round& round, std::string_view tenant, std::string_view name,
                              const Client::TriggerOptions& options, const Push& push = {}) {
    return manual_runs_.trigger(round, tenant, name, options, push);
  }
  using SubjectCall = SubjectEdits::SubjectCall;
  using SubjectChanged = SubjectEdits::SubjectChanged;
  Result<SubjectChanged> put_subject(Round& round, const SubjectCall& call) {
    return subject_edits_.put_subject(round, call);
  }
  Result<void> check_import(Round& round, std::string_view tenant, std::string_view schedule,
                            std::span<const ImportLine> lines) {
    return subject_edits_.check_import(round, tenant, schedule, lines);
  }
  Result<ImportedSubjects> write_import(Round& round, std::string_view tenant, std::string_view schedule,
                                        std::span<const ImportLine> lines) {
    return subject_edits_.write_import(round, tenant, schedule, lines);
  }
  Result<void> check_no_import(std::string_view tenant, std::string_view schedule) {
    return carillon::check_no_import(store_, tenant, schedule);
  }
  Result<bool> fans_out(std::string_view tenant, std::string_view schedule) {
    return subject_edits_.fans_out(tenant, schedule);
  }
  Result<void> delete_subject(Round& round, std::string_view tenant, std::string_view schedule,
                              std::string_view subject) {
    return subject_edits_.delete_subject(round, tenant, schedule, subject);
  }
  Result<std::size_t> windows_in(Round& round, std::string_view tenant, std::string_view schedule,
                                 const Client::BackfillRequest& range) {
    return backfill_.windows_in(round, tenant, schedule, range);
  }
  Result<BackfillStep> backfill(Round& round, const BulkState& state, std::size_t most) {
    return backfill_.step(round, state, most);
  }

  // ---- What follows from what happened ----
  Result<void> parent_done(Round& round, const LeasedJob& parent) { return follow_ups_.parent_done(round, parent); }
  Result<void> subject_learnt(Round& round, const LeasedJob& job) { return follow_ups_.subject_learnt(round, job); }
  Result<void> follow(Round& round) { return follow_ups_.follow(round); }
  Result<bool> put_right(Round& round, const SweptSubject& swept) { return follow_ups_.put_right(round, swept); }
  bool is_delivery(ScheduleId id) { return index_.is_delivery(id); }
  ScheduleIndex::SweepNext next_by_subject(ScheduleId after) { return index_.next_by_subject(after); }

  // ---- Jobs that wait until their schedule or subject goes on ----
  // The schedule is woken when the pause ends.
  void hold(const HeldJob& held) {
    held_.hold(held);
    if (held.until && *held.until < kInstantMax) index_.wake_by(held.schedule, *held.until);
  }
  void left(const LeftQueue& left) { held_.left(left); }
  std::size_t held_count(Instant now, std::optional<std::string_view> tenant) const { return held_.count(now, tenant); }
  const std::vector<ReadyJob>& released() const { return held_.released(); }
  void forget_released() { held_.forget_released(); }

 private:
  Store& store_;
  ScheduleCompiler compiler_;
  SubjectPlanner subjects_;
  HeldJobs held_;
  OpenDays open_days_;
  Replans replans_;
  ScheduleIndex index_;
  DuePlanner due_;
  PlanBackground background_;
  FollowUps follow_ups_;
  ManualRuns manual_runs_;
  ScheduleEdits schedule_edits_;
  SubjectEdits subject_edits_;
  Backfill backfill_;
};

}  // namespace carillon
