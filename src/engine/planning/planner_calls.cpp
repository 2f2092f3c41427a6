// The half of the planner that people ask: schedules are put, paused, resumed, deleted and run by hand.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/mutant.h"
#include "core/kinds/windows.h"
#include "engine/planning/planner.h"

namespace carillon {

namespace {

// A chain of schedules that follow each other is no longer than this.
constexpr int kAfterChainMax = 100;
constexpr std::string_view kOnlySubject;

// Who it was, and what he said.
void apply(const Planner::Push& push, NewJob& job) {
  if (!push.payload.empty()) job.payload = merge_payload(job.payload, push.payload);
  if (!push.created_by.empty()) job.options.created_by = push.created_by;
  if (!push.meta.empty()) {
    job.options.meta = job.options.meta.empty() ? push.meta : merge_payload(job.options.meta, push.meta);
  }
}

// Of kinds that plan each subject on its own terms, whatever those are.
bool fires_by_subject(const Schedule& schedule, Instant now) {
  return !schedule.ends_at || *schedule.ends_at > std::max(now, schedule.starts_at.value_or(now));
}

// Times of a timetable that are looked at, to see how close together they come.
constexpr int kPeriodsLookedAt = 10;

std::optional<Duration> shortest_period(const Timetable& timetable, Instant now) {
  std::optional<Duration> shortest;
  auto before = timetable.next(now);
  for (int i = 0; before && i < kPeriodsLookedAt; ++i) {
    const auto next = timetable.next(before->at);
    if (!next) break;
    shortest = std::min(shortest.value_or(kDurationMax), Duration(next->at - before->at));
    before = next;
  }
  return shortest;
}

// Of the kinds that say it.
std::optional<Duration> shortest_period(const Trigger& trigger) {
  const TriggerKind& kind = kind_of(trigger);
  return kind.shortest_period ? kind.shortest_period(trigger) : std::nullopt;
}

// With more, an occurrence would begin after those that come after it.
Result<void> check_jitter(const Schedule& schedule, std::optional<Duration> period) {
  if (!period || schedule.jitter <= *period) return {};
  auto refused = invalid_configuration(fmt::format("jitter {} is longer than the {} between two times of schedule {}",
                                                   format_duration(schedule.jitter), format_duration(*period),
                                                   quoted(schedule.name)));
  return std::unexpected(about_field("jitter", std::move(refused).error()));
}

std::string_view on_or_off(bool flag) { return flag ? "true" : "false"; }

}  // namespace

// ---- Definitions ------------------------------------------------------------------------------------------------

Result<void> Planner::check_after(std::string_view tenant, const Schedule& schedule) {
  const std::string* followed = followed_by(schedule);
  std::string name = schedule.name;
  for (int i = 0; followed && i < kAfterChainMax; ++i) {
    if (*followed == schedule.name) {
      return invalid_configuration(
          fmt::format("schedule {} would follow itself, by way of {}", quoted(schedule.name), quoted(name)));
    }
    const auto parent = store_.plans().schedule(tenant, *followed);
    if (!parent) {
      return invalid_configuration(
          fmt::format("schedule {} follows {}, which does not exist", quoted(name), quoted(*followed)));
    }
    name = *followed;
    TRY_ASSIGN(const auto compiled, compiler_.compile(*parent));
    if (i == 0 && compiled->schedule.fan_out != schedule.fan_out) {
      return invalid_configuration(
          fmt::format("schedule {} follows {}, whose fan_out is {}: it must have the same, or it would never fire",
                      quoted(schedule.name), quoted(name), on_or_off(compiled->schedule.fan_out)));
    }
    followed = followed_by(compiled->schedule);
  }
  if (followed) return invalid_configuration(fmt::format("more than {} schedules follow each other", kAfterChainMax));
  return {};
}

Result<void> Planner::check_limits_of(std::string_view tenant, const Schedule& schedule, const ScheduleRow* before) {
  const auto limits_of = [](const Schedule& one, bool at_cutoff) {
    if (!at_cutoff) return one.job.options.limits;
    return one.on_cutoff ? one.on_cutoff->options.limits : std::vector<std::string>();
  };
  const auto known = before ? parse_schedule(before->definition) : Result<Schedule>(Schedule());
  for (const bool at_cutoff : {false, true}) {
    const auto named_before = known ? limits_of(*known, at_cutoff) : std::vector<std::string>();
    if (auto there = rules_.check_limits(tenant, limits_of(schedule, at_cutoff), named_before); !there) {
      there.error().field = at_cutoff ? "on_cutoff.limits" : "job.limits";
      return std::unexpected(std::move(there).error());
    }
  }
  return {};
}

// Judged before it is written: a rule that never fires is refused; one without a further time only if it is new
// (invariant 26).
Result<void> Planner::check_definition(const Put& put, const Schedule& schedule, const ScheduleRow* before,
                                       Instant now) {
  if (auto checked = check_after(put.tenant, schedule); !checked) {
    return std::unexpected(about_field("trigger.schedule", std::move(checked).error()));
  }
  TRY(check_windows(schedule, rules_.windows()));
  TRY(check_limits_of(put.tenant, schedule, before));
  if (before) {
    const auto compiled = compiler_.compile(*before);
    if (compiled && (*compiled)->schedule.fan_out != schedule.fan_out) {
      auto refused =
          invalid_configuration(fmt::format("schedule {} has fan_out {}, which cannot be changed: delete it "
                                            "and make it anew, or take another name",
                                            quoted(schedule.name), on_or_off(!schedule.fan_out)));
      return std::unexpected(about_field("fan_out", std::move(refused).error()));
    }
  }
  if (!has_times(schedule)) return {};
  TRY(check_jitter(schedule, shortest_period(schedule.trigger)));
  bool fires = fires_by_subject(schedule, now);
  if (!plans_by_subject(schedule.trigger)) {
    TRY_ASSIGN(const Timetable timetable,
               timetable_of(schedule, rules_.zone_of(put.tenant), before ? before->created_at : now));
    fires = timetable.next(now).has_value();
    TRY(check_jitter(schedule, shortest_period(timetable, now)));
  }
  if (!before && !fires) {
    auto never = invalid_configuration(
        fmt::format("schedule {} never fires: it has no time after {}", quoted(schedule.name), format_instant(now)));
    return std::unexpected(about_field("trigger", std::move(never).error()));
  }
  return {};
}

Result<Planner::PutSchedule> Planner::put(Round& round, const Put& put) {
  TRY_ASSIGN(Schedule schedule, parse_schedule(put.definition));
  TRY(settle_times(schedule, rules_.zone_of(put.tenant)));
  const auto known = store_.plans().schedule(put.tenant, schedule.name);
  const ScheduleRow* const before = known ? &*known : nullptr;
  TRY(check_definition(put, schedule, before, round.now));
  if (before && before->definition != write_schedule(schedule)) TRY(check_no_import(put.tenant, schedule.name));
  if (before) TRY(plan_what_is_due(round, *before));
  TRY_ASSIGN(ScheduleRow row, store_.plans().put_schedule({.tenant = std::string(put.tenant),
                                                           .name = schedule.name,
                                                           .definition = write_schedule(schedule),
                                                           .enabled = schedule.enabled,
                                                           .if_revision = put.if_revision}));
  if (before && before->revision == row.revision) {
    // Nothing changed. The answer to the call that put it may have been lost, and with it what the memory should know.
    TRY(remember(round, row));
    return PutSchedule{.row = std::move(row), .definition_before = before->definition};
  }
  TRY_ASSIGN(row, take_effect(round, std::move(row), before));
  return PutSchedule{.row = std::move(row),
                     .definition_before = before ? std::optional(before->definition) : std::nullopt};
}

Result<ScheduleRow> Planner::take_effect(Round& round, ScheduleRow row, const ScheduleRow* before) {
  TRY_ASSIGN(const auto compiled, compiler_.compile(row));
  const bool goes_on = before && !before->enabled && row.enabled;
  if (compiled->schedule.fan_out) {
    // The time until now had no occurrences, as after a pause: each subject learns of it when its time comes.
    if (goes_on) {
      TRY_ASSIGN(row, store_.plans().set_paused(row.tenant, row.name, round.now));
    }
    if (before) TRY(begin_replan(round, row, *before));
  } else {
    using What = SubjectChange::What;
    const What what = goes_on ? What::resumed : before ? What::edited : What::made;
    TRY(anchor_only_subject(round, {row, *compiled}, {.what = what, .at = round.now, .cursor_end = {}}));
  }
  TRY(remember(round, row));
  forget_traits(round, row.id);
  count_open_days(round, row);
  return row;
}

Result<void> Planner::anchor_only_subject(Round& round, const Ruling& ruling, const SubjectChange& change) {
  // It is made first, if it is new: an earlier life of the schedule may have left a position (invariant 1).
  const SubjectEdit edit{.subject = std::string(kOnlySubject)};
  TRY_ASSIGN(const std::vector<PutSubject> made, store_.plans().put_subjects(ruling.row.id, std::array{edit}));
  return subjects_.anchor(round, ruling, made.front().row, change);
}

// ---- Pauses -----------------------------------------------------------------------------------------------------

Result<ScheduleRow> Planner::pause(Round& round, std::string_view tenant, std::string_view name,
                                   std::optional<Instant> until) {
  TRY_ASSIGN(const ScheduleRow before, store_.plans().schedule(tenant, name));
  TRY(plan_what_is_due(round, before));
  if (until && *until <= round.now) {
    return invalid_field(
        "until", fmt::format("cannot pause schedule {} until {}: that is past", quoted(name), format_instant(*until)));
  }
  TRY_ASSIGN(ScheduleRow row, store_.plans().set_paused(tenant, name, until.value_or(kInstantMax)));
  // More was due than fits into one round: the rest is planned behind it, as of now.
  TRY_ASSIGN(const std::optional<Instant> next_at, store_.plans().next_subject_at(row.id));
  if (runs_at(before, round.now) && next_at && *next_at <= round.now) TRY(begin_replan(round, row, before));
  TRY(remember(round, row));
  return row;
}

Result<ScheduleRow> Planner::resume(Round& round, std::string_view tenant, std::string_view name) {
  TRY_ASSIGN(ScheduleRow before, store_.plans().schedule(tenant, name));
  TRY_ASSIGN(const auto compiled, compiler_.compile(before));
  const bool fans_out = compiled->schedule.fan_out;
  const bool has_ended = before.paused_until && *before.paused_until <= round.now;
  if (!before.paused_until || (fans_out && has_ended)) {
    TRY(remember(round, before));
    return before;
  }
  if (has_ended) TRY(plan_what_is_due(round, before));
  // With subjects by the million the pause stays as an interval, which each of them meets in its own time.
  TRY_ASSIGN(ScheduleRow row,
             store_.plans().set_paused(tenant, name, fans_out ? std::optional(round.now) : std::nullopt));
  if (!fans_out) {
    const Instant from = mutant(Mutant::paused_time_caught_up) ? before.updated_at : round.now;
    TRY(anchor_only_subject(round, {row, *compiled},
                            {.what = SubjectChange::What::resumed, .at = from, .cursor_end = {}}));
  }
  TRY(remember(round, row));
  return row;
}

Result<DeletedSchedule> Planner::remove(Round& round, std::string_view tenant, std::string_view name) {
  TRY_ASSIGN(const ScheduleRow row, store_.plans().schedule(tenant, name));
  TRY(check_no_import(tenant, name));
  TRY(plan_what_is_due(round, row));
  TRY_ASSIGN(DeletedSchedule deleted, store_.plans().delete_schedule(tenant, name));
  note_cancelled(round, tenant, deleted.cancelled);
  if (replans_.contains(row.id)) TRY(store_.admin().delete_document(replan_key(tenant, name), std::nullopt));
  if (!deleted.end) {
    round.on_commit.emplace_back([this, id = row.id, next = deleted.next_after] { cancelling_[id] = next; });
  }
  forget(round, row.id);
  return deleted;
}

// ---- By hand ----------------------------------------------------------------------------------------------------

Result<EnqueuedJob> Planner::enqueue(Round& round, NewJob job, const Push& push) {
  apply(push, job);
  TRY_ASSIGN(const Enqueued made, subjects_.enqueue(round, job));
  return EnqueuedJob{.id = made.id, .deduplicated = made.deduplicated, .state = made.state};
}

// What is to be run now may be running. Under the other policies a run by hand overlaps with nothing: it counts for no
// occurrence.
Result<void> Planner::check_not_running(const ScheduleRow& row, const Schedule& schedule, std::string_view subject) {
  if (!traits_of(schedule).runs_open_job_now && schedule.overlap != OverlapPolicy::skip) return {};
  TRY_ASSIGN(const std::vector<OpenJobRow> open, store_.plans().open_jobs(row.id, subject));
  const auto running = std::ranges::find(open, JobState::processing, &OpenJobRow::state);
  if (running == open.end()) return {};
  return failed(ErrorCode::job_already_running,
                fmt::format("schedule {} is running already: job {}", quoted(row.name), format_job_id(running->id)));
}

Result<EnqueuedJob> Planner::trigger(Round& round, std::string_view tenant, std::string_view name,
                                     const Client::TriggerOptions& options, const Push& push) {
  TRY_ASSIGN(const ScheduleRow row, store_.plans().schedule(tenant, name));
  TRY_ASSIGN(const auto compiled, compiler_.compile(row));
  const Schedule& schedule = compiled->schedule;
  if (schedule.fan_out && options.subject.empty()) {
    return invalid_field("subject",
                         fmt::format("schedule {} has subjects: say for which one it is to run now", quoted(name)));
  }
  if (!schedule.fan_out && !options.subject.empty()) {
    return failed(ErrorCode::conflict, fmt::format("schedule {} has no fan_out, and so no subject {}", quoted(name),
                                                   quoted(options.subject)));
  }
  const bool names_window = options.window_start || options.window_end;
  if ((names_window || options.mode) && !traits_of(schedule).has_windows) {
    auto refused = invalid_configuration(
        fmt::format("schedule {} is of the kind {} and has no windows", quoted(name), kind_of(schedule.trigger).name));
    return std::unexpected(about_field(names_window ? "window_start" : "mode", std::move(refused).error()));
  }
  if (!plans_by_subject(schedule.trigger) && !schedule.fan_out) {
    TRY(check_not_running(row, schedule, kOnlySubject));
    NewJob job = manual_job(tenant, schedule, kOnlySubject, options.payload, options.priority);
    if (!push.key.empty()) job.options.idempotency_key = push.key;
    return enqueue(round, std::move(job), push);
  }
  // The same push again finds what it did, and does nothing: it may have run a job that was there before.
  if (!push.key.empty()) {
    TRY_ASSIGN(
        const auto known,
        store_.jobs().key_holder({.tenant = tenant, .type = schedule.job.type, .key = push.key, .said = push.said}));
    if (known) return EnqueuedJob{.id = known->id, .deduplicated = true, .state = known->state};
  }
  TRY_ASSIGN(SubjectRow subject, store_.plans().subject(row.id, options.subject));
  if (runs_at(row, round.now) && subject.next_at && *subject.next_at <= round.now) {
    TRY(plan_subject(round, {row, *compiled}, subject));
    TRY_ASSIGN(subject, store_.plans().subject(row.id, options.subject));
  }
  TRY_ASSIGN(EnqueuedJob made, trigger_subject(round, {row, *compiled}, subject, options, push));
  if (!push.key.empty()) {
    TRY(store_.jobs().add_key(made.id, push.key, push.said));
    made.deduplicated = false;
  }
  TRY(remember(round, row));
  return made;
}

// Said by the way: what is planned follows it.
Result<void> Planner::expect_at(Round& round, const Ruling& ruling, std::string_view subject, Instant expected_at) {
  SubjectEdit said{.subject = std::string(subject)};
  said.state = StateChange{.expected_at = expected_at, .last_status = {}, .cadence = {}, .error = {}};
  TRY_ASSIGN(std::vector<PutSubject> put, store_.plans().put_subjects(ruling.row.id, std::array{said}));
  return learnt(round, ruling, std::move(put.front().row));
}

Result<EnqueuedJob> Planner::trigger_subject(Round& round, const Ruling& ruling, const SubjectRow& subject,
                                             const Client::TriggerOptions& options, const Push& push) {
  const Schedule& schedule = ruling.compiled.schedule;
  TRY_ASSIGN(auto facts, subjects_.facts_of(ruling, subject, round.now));
  if (traits_of(schedule).has_windows) {
    if (options.mode) facts.plan.overrides.mode = options.mode;
    if (!options.window_start || !options.window_end) {
      return invalid_field("window_start", "a window is run by hand by its window_start and window_end: give both");
    }
    TRY_ASSIGN(const NewJob job, manual_window(facts.plan, {.start = *options.window_start, .end = *options.window_end},
                                               store_.jobs().new_job_id(), options.payload, options.priority));
    return enqueue(round, job, push);
  }
  const bool is_check = traits_of(schedule).has_expected_time;
  const bool has_open_job = plans_by_subject(schedule.trigger) && subject.open_job;
  std::vector<OpenJobRow> open;
  if (has_open_job) {
    TRY_ASSIGN(open, store_.plans().open_jobs(subject.schedule, subject.subject));
  }
  if (!open.empty()) {
    // A check that runs may have looked already: what is pushed now would be lost on it.
    if (is_check && !push.key.empty() && open.back().state == JobState::processing) {
      return make_check(round, ruling, subject, options, push, open.back().id);
    }
    TRY_ASSIGN(const EnqueuedJob run, run_open_job(round, ruling.row, open.back(), options, push));
    if (is_check && push.expected_at) TRY(expect_at(round, ruling, subject.subject, *push.expected_at));
    return run;
  }
  if (is_check) return make_check(round, ruling, subject, options, push, {});
  TRY(check_not_running(ruling.row, schedule, subject.subject));
  return enqueue(
      round,
      manual_job(ruling.row.tenant, schedule, subject.subject, options.payload, options.priority, facts.plan.overrides),
      push);
}

Result<EnqueuedJob> Planner::make_check(Round& round, const Ruling& ruling, const SubjectRow& subject,
                                        const Client::TriggerOptions& options, const Push& push, JobId behind) {
  SubjectRow known = subject;
  if (push.expected_at) {
    TRY(expect_at(round, ruling, subject.subject, *push.expected_at));
    TRY_ASSIGN(known, store_.plans().subject(subject.schedule, subject.subject));
  }
  TRY_ASSIGN(const Enqueued made, subjects_.check_now(round, ruling, known, behind, [&](NewJob& check) {
    check.priority = options.priority.value_or(std::min(check.priority, kPriorityManual));
    if (options.payload) check.payload = merge_payload(check.payload, *options.payload);
    apply(push, check);
  }));
  return EnqueuedJob{.id = made.id, .deduplicated = false, .state = made.state};
}

Result<EnqueuedJob> Planner::run_open_job(Round& round, const ScheduleRow& row, const OpenJobRow& open,
                                          const Client::TriggerOptions& options, const Push& push) {
  JobStore& jobs = store_.jobs();
  JobPatch patch;
  JobState state = open.state;
  // One that waits for a check to end, because of an earlier push, goes on waiting.
  if (open.state == JobState::waiting && !push.key.empty()) {
    patch.priority = options.priority;
  } else {
    const JobAction action = open.state == JobState::dlq ? JobAction::retry : JobAction::run_now;
    TRY_ASSIGN(const Changed changed, std::move(jobs.act(row.tenant, action, std::array{open.id}).front()));
    note_cancelled(round, row.tenant, {changed});
    state = changed.state;
    // Somebody waits for it: it is not later in turn than what is made by hand.
    const int now = changed.after.priority;
    const int wanted = options.priority.value_or(kPriorityManual);
    if (options.priority ? now != wanted : now > wanted) patch.priority = wanted;
  }
  patch.payload_over = options.payload;
  if (!push.payload.empty()) {
    patch.payload_over = patch.payload_over ? merge_payload(*patch.payload_over, push.payload) : push.payload;
  }
  if (!push.meta.empty()) patch.meta_over = push.meta;
  const bool can_change = state == JobState::queued || state == JobState::waiting;
  if (can_change && (patch.priority || patch.payload_over || patch.meta_over)) {
    TRY_ASSIGN(const Changed patched, jobs.patch(row.tenant, open.id, patch));
    round.add_ready(patched.ready);
  }
  return EnqueuedJob{.id = open.id, .deduplicated = true, .state = state};
}

}  // namespace carillon
