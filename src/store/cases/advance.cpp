#include "store/cases/advance.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/mutant.h"
#include "store/cases/act.h"
#include "store/cases/enqueue.h"
#include "store/cases/finish.h"
#include "store/cases/plan.h"
#include "store/local_minute.h"

namespace carillon {

namespace {

std::unexpected<Error> changed_meanwhile(std::string_view subject) {
  return failed(ErrorCode::conflict, fmt::format("subject {} was changed meanwhile", quoted(subject)));
}

bool is_of(const JobRow& row, ScheduleId schedule, std::string_view subject) {
  return row.schedule == schedule && row.subject == subject;
}

void skip_job(Context& context, const JobRow& row, std::vector<ReadyJob>& ready) {
  JobDetail detail = detail_of(context, row);
  detail.reason = "overlap";
  JobRow after = row;
  after.detail = StoredDetail::of(detail);
  finish_job(context, row, std::move(after), {.state = JobState::skipped, .from = row.state}, ready);
  context.ended_along.push_back(changed_of(context, row, JobState::skipped));
}

void apply(Context& context, const Advance& advance, const SubjectAction& action, Advanced& answer) {
  const auto row = context.tx.job(action.job);
  if (!row || !is_of(*row, advance.schedule, advance.subject)) return;
  const JobState state = state_of(*row, context.tx.lease(row->id));
  switch (action.what) {
    case SubjectAction::What::cancel: {
      Changed changed = cancel_job(context, *row, state, "replaced");
      if (changed.cancel_requested) answer.asked_to_stop.push_back(changed.id);
      answer.ready.insert(answer.ready.end(), changed.ready.begin(), changed.ready.end());
      changed.ready.clear();
      if (is_final(changed.state)) context.ended_along.push_back(std::move(changed));
      return;
    }
    case SubjectAction::What::skip:
      if (state == JobState::waiting || state == JobState::queued) skip_job(context, *row, answer.ready);
      return;
  }
}

OutcomeRow outcome_of(const Context& context, const SubjectRow& subject, const ClosedSlot& closed) {
  return {.schedule = subject.schedule,
          .subject = subject.subject,
          .slot = closed.first,
          .until = closed.until,
          .count = closed.count,
          .outcome = closed.outcome,
          .reason = closed.reason,
          .at = context.now,
          .local_minute = local_minute_of(closed.first, closed.local_minute)};
}

constexpr std::size_t kOutcomesAtOnce = 500;

enum class Growth : std::uint8_t { none, has_grown, was_in_it };

// None if there is no such row to go on with. What is added is counted where it is itself.
Growth extend_range(Context& context, const OutcomeRow& more, Instant slot) {
  auto range = context.tx.outcome(more.schedule, more.subject, slot);
  if (!range || range->job || range->outcome != more.outcome || range->reason != more.reason) return Growth::none;
  const Instant end = more.until.value_or(more.slot);
  if (end <= range->until.value_or(range->slot)) return Growth::was_in_it;
  range->until = end;
  range->count += more.count;
  range->at = more.at;
  context.tx.update_outcome(*range);
  return Growth::has_grown;
}

// Each of a range where it is itself, if that is said; else where the first one is.
void count_closed(Context& context, const OutcomeRow& row, const std::vector<MinuteCount>& minutes) {
  if (minutes.empty() || mutant(Mutant::range_on_its_first_day)) {
    return context.tx.add_outcome_count(row.schedule, row.local_minute, *row.outcome, row.count);
  }
  for (const MinuteCount& minute : minutes) {
    if (minute.count > 0) {
      context.tx.add_outcome_count(row.schedule, minute.local_minute, *row.outcome, minute.count);
    }
  }
}

void close_slot(Context& context, SubjectRow& subject, ClosedSlot closed) {
  OutcomeRow row = outcome_of(context, subject, closed);
  const Growth growth = closed.extends ? extend_range(context, row, *closed.extends) : Growth::none;
  if (growth == Growth::was_in_it) return;
  if (growth == Growth::none && !context.tx.insert_outcome(row)) {
    // The first one has its outcome, from an earlier life of the schedule. The rest of a range is closed behind it.
    closed.first += Duration(1);
    if (!closed.until || *closed.until < closed.first) return;
    closed.count = std::max<std::int64_t>(closed.count - 1, 1);
    if (!closed.minutes.empty()) --closed.minutes.front().count;
    row = outcome_of(context, subject, closed);
    if (!context.tx.insert_outcome(row)) return;
  }
  context.finalized.push_back(row);
  count_closed(context, row, closed.minutes);
  if (closed.outcome == JobState::cutoff_reached) note_closed(context, subject, closed);
}

}  // namespace

bool may_be_refused_late(const Advance& advance) { return !advance.actions.empty() || advance.jobs.size() > 1; }

Result<Advanced> advance_subject(Context& context, Owners& owners, const Advance& advance) {
  const auto& owner = owners.of(context, advance.schedule);
  auto row = context.tx.subject(advance.schedule, advance.subject);
  if (!owner || !row || !lives(*row, *owner) || row->version != advance.version) {
    return changed_meanwhile(advance.subject);
  }
  Advanced answer;
  // A job that ends changes the row.
  const auto read_again = [&] { row = context.tx.subject(advance.schedule, advance.subject); };
  if (!advance.actions.empty()) {
    for (const SubjectAction& action : advance.actions) apply(context, advance, action, answer);
    drop_not_ready(context, answer.ready);
    read_again();
    if (!row) return changed_meanwhile(advance.subject);
  }
  JobId open_job = row->open_job;
  bool ended_at_once = false;
  for (const NewJob& job : advance.jobs) {
    const PlannedFor planned{.schedule = *owner, .subject = *row};
    TRY_ASSIGN(const Enqueued made, enqueue_planned_job(context, job, planned));
    if (is_final(made.state)) ended_at_once = true;
    if (job.occurrence && !made.deduplicated && !is_final(made.state)) open_job = made.id;
    answer.jobs.push_back(made);
  }
  if (ended_at_once) {
    read_again();
    if (!row) return changed_meanwhile(advance.subject);
  }
  const std::optional<Instant> next_at_before = row->next_at;
  for (const ClosedSlot& closed : advance.closed) close_slot(context, *row, closed);
  row->open_job = open_job;
  row->next_at = advance.next_at;
  raise_to(row->position, advance.position);
  raise_to(row->cursor, advance.cursor);
  move_cursor(context, *row);
  if (advance.state) change_state(context, *row, *advance.state);
  ++row->version;
  context.tx.update_subject(next_at_before, *row);
  answer.version = row->version;
  return answer;
}

std::vector<OpenJobRow> open_jobs_of(Context& context, ScheduleId schedule, std::string_view subject) {
  Transaction& tx = context.tx;
  const auto owner = tx.subject(schedule, subject);
  const auto last = owner && owner->open_job ? tx.job(owner->open_job) : std::nullopt;
  if (!last) return {};
  std::vector<OpenJobRow> open;
  const auto add = [&](const JobRow& row) { open.push_back({.id = row.id, .state = state_of(row, tx.lease(row.id))}); };
  for (const JobId id : tx.parents(last->id)) {
    const auto parent = tx.job(id);
    if (parent && is_of(*parent, schedule, subject)) add(*parent);
  }
  add(*last);
  return open;
}

std::vector<JobId> unstarted_jobs_of(Context& context, ScheduleId schedule, std::string_view subject) {
  Transaction& tx = context.tx;
  std::vector<JobId> unstarted;
  OutcomeKey after{schedule, std::string(subject), kInstantMin};
  for (bool end = false; !end && !tx.failed();) {
    const std::vector<OutcomeRow> rows = tx.outcomes_above(after, kOutcomesAtOnce);
    end = rows.size() < kOutcomesAtOnce;
    for (const OutcomeRow& row : rows) {
      if (row.schedule != schedule || row.subject != subject) {
        end = true;
        break;
      }
      after.slot = row.slot;
      if (!row.job || row.outcome || row.parked) continue;
      const auto job = tx.job(row.job);
      if (job && job->state != JobState::dlq && !tx.lease(row.job)) unstarted.push_back(row.job);
    }
  }
  std::ranges::sort(unstarted, std::greater());
  return unstarted;
}

}  // namespace carillon
