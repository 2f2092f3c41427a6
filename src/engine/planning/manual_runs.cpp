#include "engine/planning/manual_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/kinds/windows.h"

namespace carillon {

namespace {

constexpr std::string_view kNoSubject;

// Who it was, and what he said.
void apply(const ManualRuns::Push& push, NewJob& job) {
  if (!push.payload.empty()) job.payload = merge_payload(job.payload, push.payload);
  if (!push.created_by.empty()) job.options.created_by = push.created_by;
  if (!push.meta.empty()) {
    job.options.meta = job.options.meta.empty() ? push.meta : merge_payload(job.options.meta, push.meta);
  }
}

}  // namespace

Result<EnqueuedJob> ManualRuns::enqueue(Round& round, NewJob job, const Push& push) {
  apply(push, job);
  TRY_ASSIGN(const Enqueued made, subjects_.enqueue(round, job));
  return EnqueuedJob{.id = made.id, .deduplicated = made.deduplicated, .state = made.state};
}

Result<void> ManualRuns::check_not_running(const ScheduleRow& row, const Schedule& schedule, std::string_view subject) {
  if (!traits_of(schedule).runs_open_job_now && schedule.overlap != OverlapPolicy::skip) return {};
  TRY_ASSIGN(const std::vector<OpenJobRow> open, store_.plans().open_jobs(row.id, subject));
  const auto running = std::ranges::find(open, JobState::processing, &OpenJobRow::state);
  if (running == open.end()) return {};
  return failed(ErrorCode::job_already_running,
                fmt::format("schedule {} is running already: job {}", quoted(row.name), format_job_id(running->id)));
}

Result<EnqueuedJob> ManualRuns::trigger(Round& round, std::string_view tenant, std::string_view name,
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
    TRY(check_not_running(row, schedule, kNoSubject));
    NewJob job = manual_job(tenant, schedule, kNoSubject, options.payload, options.priority);
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
    TRY(due_.plan_subject(round, {row, *compiled}, subject));
    TRY_ASSIGN(subject, store_.plans().subject(row.id, options.subject));
  }
  TRY_ASSIGN(EnqueuedJob made, trigger_subject(round, {row, *compiled}, subject, options, push));
  if (!push.key.empty()) {
    TRY(store_.jobs().add_key(made.id, push.key, push.said));
    made.deduplicated = false;
  }
  TRY(index_.remember(round, row));
  return made;
}

// Said by the way: what is planned follows it.
Result<void> ManualRuns::expect_at(Round& round, const Ruling& ruling, std::string_view subject, Instant expected_at) {
  SubjectEdit said{.subject = std::string(subject)};
  said.state = StateChange{.expected_at = expected_at, .last_status = {}, .cadence = {}, .error = {}};
  TRY_ASSIGN(std::vector<PutSubject> put, store_.plans().put_subjects(ruling.row.id, std::array{said}));
  return follow_ups_.learnt(round, ruling, std::move(put.front().row));
}

Result<EnqueuedJob> ManualRuns::trigger_subject(Round& round, const Ruling& ruling, const SubjectRow& subject,
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

Result<EnqueuedJob> ManualRuns::make_check(Round& round, const Ruling& ruling, const SubjectRow& subject,
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

Result<EnqueuedJob> ManualRuns::run_open_job(Round& round, const ScheduleRow& row, const OpenJobRow& open,
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
    note_moved(round, {changed});
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
