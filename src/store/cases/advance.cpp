#include "store/cases/advance.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/cases/act.h"
#include "store/cases/enqueue.h"
#include "store/cases/finish.h"
#include "store/cases/plan.h"

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
  after.detail = write_detail(detail);
  finish_job(context, row, std::move(after), {.state = JobState::skipped, .from = row.state}, ready);
}

void apply(Context& context, const Advance& advance, const SubjectAction& action, Advanced& answer) {
  const auto row = context.tx.job(action.job);
  if (!row || !is_of(*row, advance.schedule, advance.subject)) return;
  const JobState state = state_of(*row, context.tx.lease(row->id));
  switch (action.what) {
    case SubjectAction::What::cancel: {
      const Changed changed = cancel_job(context, *row, state, "replaced");
      if (changed.cancel_requested) answer.asked_to_stop.push_back(changed.id);
      answer.ready.insert(answer.ready.end(), changed.ready.begin(), changed.ready.end());
      return;
    }
    case SubjectAction::What::skip:
      if (state == JobState::waiting || state == JobState::queued) skip_job(context, *row, answer.ready);
      return;
  }
}

void close_slot(Context& context, const Advance& advance, ClosedSlot closed) {
  if (context.tx.outcome(advance.schedule, advance.subject, closed.first)) {
    // The first one has its outcome, from an earlier life of the schedule. The rest of a range is closed behind it.
    closed.first += Duration(1);
    if (!closed.until || *closed.until < closed.first) return;
    closed.count = std::max<std::int64_t>(closed.count - 1, 1);
  }
  const OutcomeRow row{.schedule = advance.schedule,
                       .subject = advance.subject,
                       .slot = closed.first,
                       .until = closed.until,
                       .count = closed.count,
                       .outcome = closed.outcome,
                       .reason = closed.reason,
                       .at = context.now};
  context.tx.put_outcome(row);
  context.finalized.push_back(row);
  context.tx.add_outcome_count(advance.schedule, closed.first, closed.outcome, closed.count);
}

void raise(std::optional<Instant>& position, std::optional<Instant> to) {
  if (to && (!position || *to > *position)) position = to;
}

}  // namespace

Result<Advanced> advance_subject(Context& context, const Advance& advance) {
  const auto owner = context.tx.schedule(advance.schedule);
  auto row = context.tx.subject(advance.schedule, advance.subject);
  if (!owner || !row || !lives(*row, *owner) || row->version != advance.version) {
    return changed_meanwhile(advance.subject);
  }
  Advanced answer;
  for (const SubjectAction& action : advance.actions) apply(context, advance, action, answer);
  drop_not_ready(context, answer.ready);
  // A job that ended has changed the row.
  row = context.tx.subject(advance.schedule, advance.subject);
  if (!row) return changed_meanwhile(advance.subject);
  JobId open_job = row->open_job;
  for (const NewJob& job : advance.jobs) {
    TRY_ASSIGN(const Enqueued made, enqueue_job(context, job));
    if (!made.deduplicated && !is_final(made.state)) open_job = made.id;
    answer.jobs.push_back(made);
  }
  for (const ClosedSlot& closed : advance.closed) close_slot(context, advance, closed);
  // So has one that ended at once.
  row = context.tx.subject(advance.schedule, advance.subject);
  if (!row) return changed_meanwhile(advance.subject);
  row->open_job = open_job;
  row->next_at = advance.next_at;
  raise(row->position, advance.position);
  move_cursor(context, *row);
  if (advance.state) row->state = *advance.state;
  ++row->version;
  context.tx.put_subject(*row);
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

}  // namespace carillon
