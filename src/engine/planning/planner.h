// Turns due occurrences into jobs. It holds one small entry a schedule, ordered by when its first subject is next due,
// so that a round costs what is due and not what is known (invariant 7). What is stored decides; the entries only say
// where to look. What becomes of one subject is decided in SubjectPlanner.
//
// Every method that takes a Round is called inside of its transaction.
#pragma once

#include <carillon/client.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/schedules/schedule.h"
#include "core/schedules/subject.h"
#include "engine/calls/bulk.h"
#include "engine/calls/import_lines.h"
#include "engine/planning/replan.h"
#include "engine/planning/schedule_compiler.h"
#include "engine/planning/subject_planner.h"
#include "engine/round/round.h"
#include "engine/telling/open_days.h"
#include "engine/upkeep/rule_book.h"
#include "store/store.h"

namespace carillon {

class Planner {
 public:
  // `asked_to_stop` tells a running attempt that it is to end.
  Planner(Store& store, const RuleBook& rules, std::function<void(Round&, JobId)> asked_to_stop)
      : store_(store), rules_(rules), compiler_(rules), subjects_(store, std::move(asked_to_stop)) {}
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;
  ~Planner() = default;

  // Reads the next page of schedules that follow others. True when it has seen all.
  Result<bool> load_followers(Round& round);
  // The same of all schedules.
  Result<bool> load(Round& round);
  // The memory may have missed a change: all of that once more.
  void load_again();
  // The subjects of a schedule that was edited were on their way when the engine ended.
  void resume_replan(const Document& document);
  // Schedules of a tenant ("": of all) that name no zone are planned anew from now on.
  void zone_changed(std::string_view tenant);

  std::optional<Instant> next_due() const;
  // There is work that waits for nothing: subjects to be re-planned, jobs of deleted schedules.
  bool has_background() const { return !rezone_.empty() || !replans_.empty() || !cancelling_.empty(); }
  // Plans what is due and goes on with the rest: at most so many schedules, and a bounded number of subjects.
  struct Step {
    std::size_t schedules_max = 0;
    bool leave_deliveries = false;  // earlier cutoffs are not finalized yet: in their order (invariant 3)
  };
  struct Stepped {
    std::uint64_t looked_at = 0;  // subjects
    bool is_behind = false;       // there may be more due than was planned
  };
  Result<Stepped> step(Round& round, const Step& asked);

  // Deliveries in their window. Each round looks up, before it writes, what is not known yet; tells it; and lets the
  // memory follow once it is committed.
  Result<void> look_up_open_days(const Round& round) { return open_days_.look_up(store_.plans(), round.now); }
  std::uint64_t open_days(const Round& round) const { return open_days_.count_with(round.open_days); }
  void committed(const Round& round) { open_days_.apply(round.open_days); }

  // ---- What people ask ----
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
  // Without an end: until resumed. What was due before is planned first.
  Result<ScheduleRow> pause(Round& round, std::string_view tenant, std::string_view name, std::optional<Instant> until);
  // From now on: paused time has no occurrences (invariant 32).
  Result<ScheduleRow> resume(Round& round, std::string_view tenant, std::string_view name);
  Result<DeletedSchedule> remove(Round& round, std::string_view tenant, std::string_view name);
  // Runs it now: a job of its own, or for some kinds the one that is open. A push from outside says more than a person.
  struct Push {
    std::string key;   // the same again is the same push
    std::string said;  // all of it: something else under the key is a conflict
    std::string created_by;
    std::string meta;                    // a JSON object
    std::string payload;                 // a JSON object that is laid over the job's, member by member
    std::optional<Instant> expected_at;  // of adaptive: learnt by the way
  };
  Result<EnqueuedJob> trigger(Round& round, std::string_view tenant, std::string_view name,
                              const Client::TriggerOptions& options, const Push& push = {});

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
  // `conflict` if lines that were checked by its rules are about to be written: see ImportWork.
  Result<void> check_no_import(std::string_view tenant, std::string_view schedule);
  // Whether it has subjects.
  Result<bool> fans_out(std::string_view tenant, std::string_view schedule);
  // What has not started is cancelled.
  Result<void> delete_subject(Round& round, std::string_view tenant, std::string_view schedule,
                              std::string_view subject);

  // How many windows a range has: of one subject, or as the schedule says if all are meant. Refused if it has no whole
  // number of them.
  Result<std::size_t> windows_in(Round& round, std::string_view tenant, std::string_view schedule,
                                 const Client::BackfillRequest& range);
  // The next windows by hand, at most so many.
  Result<BackfillStep> backfill(Round& round, const BulkState& state, std::size_t most);

  // ---- What follows from what happened ----
  // A job of a schedule is done: what comes after it is made in the same transaction (invariants 30, 31).
  Result<void> parent_done(Round& round, const LeasedJob& parent);
  // What was learnt about a subject may move its next time.
  Result<void> subject_learnt(Round& round, const LeasedJob& job);
  // Occurrences have got their outcomes, or were parked, in this transaction: the job at a cutoff, the next windows.
  Result<void> follow(Round& round);
  bool is_delivery(ScheduleId id);
  // The next schedule by id whose subjects are planned each on its own terms, among some hundreds.
  struct SweepNext {
    std::optional<ScheduleId> found;
    ScheduleId looked_to;
    bool end = false;  // there is none, among all that are behind
  };
  SweepNext next_by_subject(ScheduleId after);
  // One that a sweep stopped at gets the time that it should have. True if something was wrong.
  Result<bool> put_right(Round& round, const SweptSubject& swept);

  // Jobs of a schedule that is paused or disabled, or of such a subject, wait here, in memory, until it goes on.
  void hold(const HeldJob& held);
  // One of them does not stand so any more.
  void left(const LeftQueue& left);
  // How many of them are due, those included that go on now: of all, or of one tenant.
  std::size_t held_count(Instant now, std::optional<std::string_view> tenant) const;
  // Those that go on now. They stay in the memory whatever becomes of the round that takes them over.
  const std::vector<ReadyJob>& released() const { return released_; }
  void forget_released();

 private:
  // What is known of a kind without looking at the definition again.
  struct Traits {
    bool is_delivery = false;
    bool by_subject = false;
    bool follows_outcomes = false;
  };
  struct Entry {
    std::string tenant;
    std::string name;
    std::optional<Instant> wake_at;  // when something is due, or a pause ends
    std::string after;               // the schedule that it follows
    std::optional<Traits> traits;    // nothing: nobody has asked yet
  };
  using HeldKey = std::pair<ScheduleId, std::string>;  // the subject that holds them; "": the schedule

  // ---- Steps ----
  Result<Stepped> plan_schedule(Round& round, const ScheduleRow& row, std::size_t most);
  Result<void> plan_subject(Round& round, const Ruling& ruling, const SubjectRow& subject);
  Result<void> plan_what_is_due(Round& round, const ScheduleRow& row);
  Result<void> rezone(Round& round);
  Result<void> replan_step(Round& round);
  Result<void> bring_up_to_date(Round& round, const Ruling& ruling, Replan& replan, const SubjectRow& subject);
  Result<void> begin_replan(Round& round, const ScheduleRow& row, const ScheduleRow& before);
  Result<void> cancel_step(Round& round);
  void note_cancelled(Round& round, std::string_view tenant, const std::vector<Changed>& cancelled);

  // ---- Schedules ----
  Result<void> check_after(std::string_view tenant, const Schedule& schedule);
  Result<void> check_limits_of(std::string_view tenant, const Schedule& schedule, const ScheduleRow* before);
  Result<void> check_definition(const Put& put, const Schedule& schedule, const ScheduleRow* before, Instant now);
  Result<ScheduleRow> take_effect(Round& round, ScheduleRow row, const ScheduleRow* before);
  Result<void> anchor_only_subject(Round& round, const Ruling& ruling, const SubjectChange& change);
  Result<EnqueuedJob> enqueue(Round& round, NewJob job, const Push& push);
  Result<void> check_not_running(const ScheduleRow& row, const Schedule& schedule, std::string_view subject);
  Result<EnqueuedJob> run_open_job(Round& round, const ScheduleRow& row, const OpenJobRow& open,
                                   const Client::TriggerOptions& options, const Push& push);
  // Of checks: now, or as soon as the one `behind` which it is made has ended.
  Result<EnqueuedJob> make_check(Round& round, const Ruling& ruling, const SubjectRow& subject,
                                 const Client::TriggerOptions& options, const Push& push, JobId behind);
  Result<EnqueuedJob> trigger_subject(Round& round, const Ruling& ruling, const SubjectRow& subject,
                                      const Client::TriggerOptions& options, const Push& push);

  // ---- Subjects ----
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
  Result<void> stand_behind_edit(const Ruling& ruling, PutSubject& put);

  // ---- What follows ----
  Result<void> learnt(Round& round, const Ruling& ruling, SubjectRow subject);
  Result<void> expect_at(Round& round, const Ruling& ruling, std::string_view subject, Instant expected_at);
  Result<void> follow_slot(Round& round, const FinalizedSlot& slot);
  Result<void> open_windows_again(Round& round, ScheduleId schedule, std::string_view name);
  Traits known_traits(ScheduleId id);

  // ---- The memory follows, after the commit ----
  // Wakes when its first subject is due.
  Result<void> remember(Round& round, const ScheduleRow& row);
  void remember(Round& round, const ScheduleRow& row, std::optional<Instant> next_at);
  void forget_traits(Round& round, ScheduleId id);
  // Its open days are counted from the next round on, if it delivers.
  void count_open_days(Round& round, const ScheduleRow& row);
  void forget(Round& round, ScheduleId id);
  void release_subject(Round& round, ScheduleId schedule, std::string_view subject);
  void release(const HeldKey& key);
  void set_entry(ScheduleId id, Entry entry);
  void erase_entry(ScheduleId id);

  Store& store_;
  const RuleBook& rules_;
  ScheduleCompiler compiler_;
  SubjectPlanner subjects_;
  ScheduleId followers_to_;
  ScheduleId loaded_to_;
  ScheduleId served_;  // the last schedule with more due than fits: others come first
  std::map<ScheduleId, Entry> entries_;
  std::set<std::pair<Instant, ScheduleId>> due_;
  std::map<std::pair<std::string, std::string>, std::set<ScheduleId>> followers_;  // by tenant and name
  struct Held {
    std::string tenant;
    std::map<JobId, ReadyJob> jobs;  // one may be met twice after a commit that failed
  };
  std::map<HeldKey, Held> held_;
  std::vector<ReadyJob> released_;
  OpenDays open_days_;
  // By tenant: of those that are held, and of those that go on.
  using Counts = std::map<std::string, std::size_t, std::less<>>;
  static void take(Counts& counts, const std::string& tenant, std::size_t count);
  Counts held_counts_;
  Instant held_to_ = kInstantMin;  // all that are held are due by then
  Counts released_counts_;
  std::uint64_t zone_changes_ = 0;
  std::map<ScheduleId, std::uint64_t> rezone_;  // by which change
  std::map<ScheduleId, Replan> replans_;
  std::map<ScheduleId, OutcomeKey> cancelling_;  // where the cancelling of a deleted schedule's jobs stands
};

}  // namespace carillon
