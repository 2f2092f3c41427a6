#include "store/cases/finish.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "store/cases/gates.h"
#include "store/subject_text.h"

namespace carillon {

namespace {

// A cursor that stood for long may have many closed windows ahead.
constexpr int kCursorStepsMax = 10'000;
constexpr std::string_view kJobLost = "job_lost";
constexpr std::string_view kDependencyNotMet = "dependency_not_met";

bool closed(const OutcomeRow& row) {
  if (mutant(Mutant::cancelled_window_blocks_cursor) && row.outcome == JobState::cancelled) return false;
  return row.outcome.has_value() || (row.parked && !mutant(Mutant::dlq_counts_as_open));
}

// Into the subject's state, and the schedule's results. One without fan_out has no others than those of its subject.
void note_ended(Context& context, const SubjectRow& subject, SubjectState& state, const EndedOccurrence& ended) {
  state.status = ended.outcome;
  if (ended.outcome == JobState::done) {
    state.error_count = 0;
    state.last_error.clear();
  } else if (ended.failed) {
    ++state.error_count;
    state.last_error = ended.error;
  }
  if (!subject.subject.empty()) context.tx.add_result(ended);
}

// What became of an occurrence: it has its outcome, or it is parked, which is a misfortune as much as an end that is
// none.
struct Fate {
  bool is_final = true;     // else it is parked
  bool was_parked = false;  // its misfortune is counted already
};

void note_result(Context& context, SubjectRow& subject, const JobRow& row, const JobDetail& detail, const Fate& fate) {
  auto state = read_subject_state(subject);
  if (!state) return context.tx.fail(std::move(state).error());
  // A day that ends after a later one, because much was left behind, is told by its row alone: the last date is the
  // last one.
  if (row.deadline && state->last_slot && *row.slot < *state->last_slot) return;
  // A day that is parked is not over: its cutoff is still to come.
  if (fate.is_final || !row.deadline) state->last_slot = row.slot;
  if (row.state == JobState::done) state->last_run_at = context.now;
  const bool went_wrong = !fate.is_final || row.state == JobState::cutoff_reached || detail.last_error.has_value();
  note_ended(context, subject, *state,
             {.schedule = subject.schedule,
              .generation = subject.generation,
              .outcome = row.state,
              .failed = went_wrong && !fate.was_parked,
              .error = detail.last_error ? detail.last_error->message : detail.reason});
  write_subject_state(*state, subject);
}

// One that ends before the job that it waited for leaves that one as the subject's last.
JobId last_before(Context& context, const JobRow& row) {
  JobId last;
  for (const JobId id : context.tx.parents(row.id)) {
    const auto parent = context.tx.job(id);
    if (parent && parent->schedule == row.schedule && parent->subject == row.subject) last = id;
  }
  return last;
}

void update_subject(Context& context, const JobRow& row, const JobDetail& detail, const Fate& fate) {
  auto subject = context.tx.subject(row.schedule, row.subject);
  if (!subject) return;
  const SubjectRow before = *subject;
  if (fate.is_final && subject->open_job == row.id) subject->open_job = last_before(context, row);
  if (fate.is_final || !mutant(Mutant::parked_looks_healthy)) note_result(context, *subject, row, detail, fate);
  if (mutant(Mutant::max_cursor) && subject->cursor) {
    const auto window = context.tx.outcome(row.schedule, row.subject, *row.slot);
    if (window && window->until) subject->cursor = std::max(*subject->cursor, *window->until);
  }
  move_cursor(context, *subject);
  if (*subject == before) return;
  ++subject->version;
  context.tx.update_subject(before.next_at, *subject);
}

// As what an occurrence without an outcome is counted.
JobState counted_as(const OutcomeRow& row) { return row.parked ? JobState::dlq : kOpenOutcome; }

void record_outcome(Context& context, const JobRow& row, const JobDetail& detail) {
  auto outcome = context.tx.outcome(row.schedule, row.subject, *row.slot);
  if (!outcome || outcome->job != row.id) return;  // a manual run touches no occurrence
  CHECK(!outcome->outcome);                        // invariant 3: it never changes
  context.tx.add_outcome_count(row.schedule, outcome->local_minute, counted_as(*outcome), -1);
  const bool was_parked = std::exchange(outcome->parked, false);
  outcome->outcome = row.state;
  outcome->reason = detail.reason;
  outcome->at = context.now;
  context.tx.update_outcome(*outcome);
  context.tx.add_outcome_count(row.schedule, outcome->local_minute, row.state, 1);
  context.finalized.push_back(*outcome);
  update_subject(context, row, detail, {.is_final = true, .was_parked = was_parked});
}

void release_key(Context& context, const JobRow& row) {
  if (row.options.empty()) return;
  const JobOptions options = options_of(context, row);
  if (!options.idempotency_key || options.unique_until.until != KeyHold::Until::done) return;
  const auto key = context.tx.key(context.tx.lane_names(row.lane).tenant, row.type, *options.idempotency_key);
  if (key && key->job == row.id) context.tx.erase_key(*key);
}

// False if the occurrence is not the job's own.
bool mark_parked(Context& context, const JobRow& row, bool parked) {
  auto outcome = context.tx.outcome(row.schedule, row.subject, *row.slot);
  if (!outcome || outcome->job != row.id) return false;
  context.tx.add_outcome_count(row.schedule, outcome->local_minute, counted_as(*outcome), -1);
  outcome->parked = parked;
  context.tx.update_outcome(*outcome);
  if (parked) context.parked.push_back({row.schedule, row.subject, *row.slot});
  context.tx.add_outcome_count(row.schedule, outcome->local_minute, counted_as(*outcome), 1);
  return true;
}

// One parent less to wait for; after the last one it is queued.
void release_dependent(Context& context, const JobRow& child, std::vector<ReadyJob>& ready) {
  Transaction& tx = context.tx;
  if (tx.has_parents(child.id)) return;
  JobRow released = child;
  released.state = JobState::queued;
  released.run_at = std::max(child.run_at, context.now);
  released.later = released.run_at > context.now + kFarOff;
  tx.update_job(child, released);
  tx.add_count(released.lane, JobState::waiting, -1);
  tx.add_count(released.lane, JobState::queued, 1);
  ready.push_back(ready_of(released));
}

// Occurrences of the same subject waited only until this one was not open any more, and a parked one is not: the series
// goes on. What else depends on it waits for its success.
void release_next_occurrences(Context& context, const JobRow& row, std::vector<ReadyJob>& ready) {
  for (const JobId child_id : context.tx.children(row.id)) {
    const auto child = context.tx.job(child_id);
    if (!child || child->state != JobState::waiting || !child->slot) continue;
    if (child->schedule != row.schedule || child->subject != row.subject) continue;
    context.tx.erase_dependency(row.id, child_id);
    release_dependent(context, *child, ready);
  }
}

struct Ended {
  JobRow before;
  JobRow after;
  Finish finish;
};

// Writes the end of one job. Dependents that cannot run any more are added to `pending`.
void finish_one(Context& context, const Ended& ended, std::vector<Ended>& pending, std::vector<ReadyJob>& ready) {
  Transaction& tx = context.tx;
  const JobRow& row = ended.after;
  const Finish& finish = ended.finish;
  CHECK(can_move(finish.from, finish.state));  // invariant 14
  ArchiveRow archived{.job = row, .finished_at = context.now};
  if (finish.attempt) {
    archived.result = finish.attempt->result;
    archived.worker = finish.attempt->worker;
    archived.started_at = finish.attempt->started_at;
  } else if (row.token > 0) {
    // No attempt has ended it, but it was tried.
    if (const auto last = tx.attempt(row.id, row.token)) archived.started_at = last->started_at;
  }
  if (finish.from == JobState::queued) note_left_queue(context, ended.before);
  tx.archive(ended.before, archived);
  tx.add_count(row.lane, finish.from, -1);
  tx.add_count(row.lane, finish.state, 1);
  release_key(context, row);
  if (row.schedule && row.slot) record_outcome(context, row, detail_of(context, row));
  if (finish.from == JobState::waiting) tx.erase_parents(row.id);

  for (const JobId child_id : tx.children(row.id)) {
    const auto child = tx.job(child_id);
    tx.erase_dependency(row.id, child_id);
    if (!child || child->state != JobState::waiting) continue;
    if (finish.state == JobState::done || options_of(context, *child).run_anyway) {
      release_dependent(context, *child, ready);
      continue;
    }
    JobRow cancelled = *child;
    cancelled.state = JobState::cancelled;
    cancelled.detail = StoredDetail::of(not_met(detail_of(context, *child), {.id = row.id, .state = finish.state}));
    tx.erase_parents(child_id);
    pending.push_back({.before = *child,
                       .after = std::move(cancelled),
                       .finish = {.state = JobState::cancelled, .from = JobState::waiting}});
  }
}

}  // namespace

void finish_job(Context& context, const JobRow& before, JobRow after, const Finish& finish,
                std::vector<ReadyJob>& ready) {
  after.state = finish.state;
  if (finish.from == JobState::queued && before.run_at < context.now) {
    JobDetail detail = detail_of(context, after);
    const std::uint32_t known = detail.deferrals;
    fold_closings(context, before, detail, context.now);
    if (detail.deferrals != known) after.detail = StoredDetail::of(detail);
  }
  std::vector<Ended> pending;
  finish_one(context, {.before = before, .after = std::move(after), .finish = finish}, pending, ready);
  while (!pending.empty() && !context.tx.failed()) {
    const Ended next = std::move(pending.back());
    pending.pop_back();
    finish_one(context, next, pending, ready);
    context.ended_along.push_back(changed_of(context, next.after, next.finish.state));
  }
}

JobDetail not_met(JobDetail detail, const UnmetParent& parent) {
  detail.reason = kDependencyNotMet;
  detail.last_error = LastError{.code = std::string(kDependencyNotMet),
                                .message = fmt::format("job {}, which it depends on, ended as {}",
                                                       format_job_id(parent.id), to_string(parent.state)),
                                .error_class = {}};
  return detail;
}

void note_closed(Context& context, SubjectRow& subject, const ClosedSlot& closed) {
  auto state = read_subject_state(subject);
  if (!state) return context.tx.fail(std::move(state).error());
  state->last_slot = closed.first;
  note_ended(context, subject, *state,
             {.schedule = subject.schedule,
              .generation = subject.generation,
              .outcome = closed.outcome,
              .failed = true,
              .error = closed.reason});
  write_subject_state(*state, subject);
}

bool change_state(Context& context, SubjectRow& subject, const StateChange& change) {
  if (change == StateChange{}) return false;
  auto state = read_subject_state(subject);
  if (!state) {
    context.tx.fail(std::move(state).error());
    return false;
  }
  const SubjectState before = *state;
  if (change.expected_at) state->expected_at = *change.expected_at;
  if (change.last_status) state->last_status = *change.last_status;
  if (change.cadence) state->cadence = *change.cadence;
  if (change.error && *change.error != state->last_error) {
    state->last_error = *change.error;
    ++state->error_count;
  }
  if (*state == before) return false;
  write_subject_state(*state, subject);
  return true;
}

void close_lost_occurrence(Context& context, OutcomeRow outcome) {
  context.tx.add_outcome_count(outcome.schedule, outcome.local_minute, counted_as(outcome), -1);
  outcome.outcome = JobState::missed;
  outcome.reason = kJobLost;
  outcome.at = context.now;
  context.tx.update_outcome(outcome);
  context.tx.add_outcome_count(outcome.schedule, outcome.local_minute, JobState::missed, 1);
  context.finalized.push_back(std::move(outcome));
}

void move_cursor(Context& context, SubjectRow& subject) {
  for (int i = 0; subject.cursor && i < kCursorStepsMax; ++i) {
    // It may have been raised into the middle of a window.
    const auto window = context.tx.outcome_until(subject.schedule, subject.subject, *subject.cursor);
    if (!window || !window->until || !closed(*window) || *window->until <= *subject.cursor) return;
    subject.cursor = window->until;
  }
}

void note_parked(Context& context, const JobRow& row, std::vector<ReadyJob>& ready) {
  if (!row.schedule || !row.slot) return;
  release_next_occurrences(context, row, ready);
  if (mark_parked(context, row, true)) update_subject(context, row, detail_of(context, row), {.is_final = false});
}

void note_taken_out(Context& context, const JobRow& row) {
  if (row.schedule && row.slot) mark_parked(context, row, false);
}

}  // namespace carillon
