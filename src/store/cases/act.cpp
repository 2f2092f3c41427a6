#include "store/cases/act.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/mutant.h"
#include "core/schedules/subject.h"
#include "store/cases/finish.h"
#include "store/cases/gates.h"
#include "store/job_match.h"

namespace carillon {

namespace {

std::unexpected<Error> wrong_state(JobId id, std::string_view attempted, JobState state, std::string_view allowed) {
  const ErrorCode code = state == JobState::processing ? ErrorCode::job_already_running : ErrorCode::conflict;
  return failed(code, fmt::format("cannot {} job {}: it is {}; only {} can be", attempted, format_job_id(id),
                                  to_string(state), allowed));
}

// A finished job of this tenant; nothing if it has none such.
std::optional<JobRow> ended_job(Context& context, std::string_view tenant, JobId id) {
  auto archived = context.tx.archived(id);
  if (!archived || context.tx.lane_names(archived->job.lane).tenant != tenant) return std::nullopt;
  return std::move(archived->job);
}

std::unexpected<Error> not_live(JobId id, const std::optional<JobRow>& ended) {
  if (!ended) return absent_job(id);
  return failed(ErrorCode::conflict, fmt::format("job {} has ended as {}", format_job_id(id), to_string(ended->state)));
}

// Queued and due at once, from the DLQ or from a later time.
Changed requeue(Context& context, const JobRow& row, JobState from, JobRow after) {
  CHECK(from == JobState::queued || can_move(from, JobState::queued));
  after.state = JobState::queued;
  after.later = after.run_at > context.now + kFarOff;
  if (after.run_at != row.run_at) {
    // Somebody has moved it: what a gate said is not why it waits, but it stays on record.
    JobDetail detail = detail_of(context, after);
    if (from == JobState::queued) fold_closings(context, row, detail, context.now);
    detail.deferred_until.reset();
    detail.defer_reason.clear();
    after.detail = StoredDetail::of(detail);
  }
  context.tx.update_job(row, after);
  // Its limits stand in its options: by these its place is judged as much as by its time.
  const bool stays = from == JobState::queued && after.run_at == row.run_at && after.priority == row.priority &&
                     after.options == row.options;
  if (from == JobState::queued) {
    if (!stays) note_left_queue(context, row);
  } else {
    context.tx.add_count(row.lane, from, -1);
    context.tx.add_count(row.lane, JobState::queued, 1);
  }
  Changed changed = changed_of(context, row, JobState::queued);
  if (!stays) changed.ready.push_back(ready_of(after));
  return changed;
}

Changed retry(Context& context, const JobRow& row) {
  JobRow after = row;
  after.attempts = 0;
  after.run_at = context.now;
  JobDetail detail = detail_of(context, row);
  detail.losses = detail.releases = detail.rate_limits = 0;
  detail.lost_ahead = false;
  // Somebody has decided about what its attempts have found in doubt so far.
  if (detail.reason == kAmbiguousEffect) {
    detail.lifted_token = row.token;
    detail.lifted_at = context.now;
  }
  detail.reason.clear();
  detail.retried = true;
  after.detail = StoredDetail::of(detail);
  if (mutant(Mutant::key_freed_on_retry)) {
    const std::string key = options_of(context, row).idempotency_key.value_or("");
    const auto held = context.tx.key(context.tx.lane_names(row.lane).tenant, row.type, key);
    if (held) context.tx.erase_key(*held);
  }
  note_taken_out(context, row);
  return requeue(context, row, JobState::dlq, std::move(after));
}

// How it stands after what was done to it, which does not read it again: bulk work does this by the thousand.
void note_standing(Changed& changed, const JobStanding& before) {
  changed.before = before;
  changed.after = before;
  changed.after.state = changed.state;
  changed.after.cancel_requested = changed.cancel_requested;
  const auto entry = std::ranges::find(changed.ready, changed.id, &ReadyJob::id);
  if (entry == changed.ready.end()) return;
  changed.after.priority = entry->priority;
  changed.after.run_at = entry->run_at;
}

JobStanding standing_of(Context& context, const JobRow& row, JobState state) {
  return {.state = state,
          .priority = row.priority,
          .run_at = row.run_at,
          .cancel_requested = state == JobState::processing && detail_of(context, row).cancel_requested};
}

}  // namespace

Changed cancel_job(Context& context, const JobRow& row, JobState state, std::string_view reason) {
  Changed changed = changed_of(context, row, JobState::cancelled);
  JobDetail detail = detail_of(context, row);
  JobRow after = row;
  if (state == JobState::processing) {
    // The holder's next word decides.
    detail.cancel_requested = true;
    after.detail = StoredDetail::of(detail);
    if (after != row) context.tx.update_job(row, after);
    changed.state = JobState::processing;
    changed.cancel_requested = true;
    return changed;
  }
  detail.reason = reason;
  after.detail = StoredDetail::of(detail);
  finish_job(context, row, std::move(after), {.state = JobState::cancelled, .from = state}, changed.ready);
  return changed;
}

void drop_not_ready(Context& context, std::vector<ReadyJob>& ready) {
  std::erase_if(ready, [&](const ReadyJob& job) {
    const auto row = context.tx.job(job.id);
    return !row || row->state != JobState::queued;
  });
}

namespace {

Result<Changed> act_on_row(Context& context, JobAction action, const JobRow& row, JobState state) {
  switch (action) {
    case JobAction::cancel: return cancel_job(context, row, state, "cancelled");
    case JobAction::discard:
      if (state != JobState::dlq) return wrong_state(row.id, "discard", state, "one in dlq");
      return cancel_job(context, row, state, "discarded");
    case JobAction::retry:
      if (state != JobState::dlq) return wrong_state(row.id, "retry", state, "one in dlq");
      return retry(context, row);
    case JobAction::run_now: {
      if (state != JobState::queued) return wrong_state(row.id, "run", state, "a queued one");
      JobRow after = row;
      after.run_at = std::min(row.run_at, context.now);
      return requeue(context, row, state, std::move(after));
    }
  }
  UNREACHABLE();
}

}  // namespace

Result<Changed> act_on_job(Context& context, std::string_view tenant, JobAction action, JobId id) {
  const auto row = job_of_tenant(context, tenant, id);
  if (!row) {
    const auto ended = ended_job(context, tenant, id);
    if (action == JobAction::cancel && ended && ended->state == JobState::cancelled) {
      return changed_of(context, *ended, JobState::cancelled);
    }
    return not_live(id, ended);
  }
  const JobState state = state_of(*row, context.tx.lease(id));
  const JobStanding before = standing_of(context, *row, state);
  TRY_ASSIGN(Changed changed, act_on_row(context, action, *row, state));
  note_standing(changed, before);
  return changed;
}

namespace {

// What the patch names, checked as if it were asked for anew; the payload that it is to have, if that is named.
Result<std::optional<std::string>> apply_patch(Context& context, const JobPatch& patch, JobRow& row) {
  NewJob asked{.tenant = context.tx.lane_names(row.lane).tenant, .type = context.tx.type_name(row.type)};
  asked.priority = patch.priority.value_or(row.priority);
  asked.options = options_of(context, row);
  if (patch.retry || patch.max_attempts) {
    if (row.slot && row.deadline) {
      auto refused = invalid_configuration(fmt::format(
          "job {} is a delivery: it is tried again every retry_delay, until its cutoff", format_job_id(row.id)));
      return std::unexpected(about_field(patch.retry ? "retry" : "max_attempts", std::move(refused).error()));
    }
    if (patch.retry) asked.options.retry = *patch.retry;
    // It waits for an attempt, which it has in any case. (invariant 16)
    if (patch.max_attempts) asked.options.max_attempts = std::max(*patch.max_attempts, row.attempts + 1);
  }
  if (patch.limits) asked.options.limits = *patch.limits;
  if (patch.meta_over) {
    std::string& meta = asked.options.meta;
    meta = meta.empty() ? *patch.meta_over : merge_payload(meta, *patch.meta_over);
  }
  std::optional<std::string> payload = patch.payload;
  if (patch.payload_over) payload = merge_payload(context.tx.payload(row.id), *patch.payload_over);
  if (payload) asked.payload = *payload;
  TRY(check_new_job(asked));
  row.priority = asked.priority;
  if (patch.run_at) row.run_at = up_to_millisecond(*patch.run_at);
  if (patch.retry || patch.max_attempts || patch.limits || patch.meta_over) {
    row.options = StoredOptions::of(asked.options);
  }
  return payload;
}

// How it stands, with what the patch names: before it, or after it.
JobStanding patched_standing(Context& context, const JobPatch& patch, const JobRow& row, JobState state) {
  JobStanding standing = standing_of(context, row, state);
  const JobOptions options = options_of(context, row);
  if (patch.payload || patch.payload_over) standing.payload = context.tx.payload(row.id);
  if (patch.retry) standing.retry = options.retry;
  if (patch.max_attempts) standing.max_attempts = options.max_attempts;
  if (patch.limits) standing.limits = options.limits;
  return standing;
}

}  // namespace

Result<Changed> patch_job(Context& context, std::string_view tenant, JobId id, const JobPatch& patch) {
  const auto row = job_of_tenant(context, tenant, id);
  if (!row) return not_live(id, ended_job(context, tenant, id));
  const JobState state = state_of(*row, context.tx.lease(id));
  if (state != JobState::queued && state != JobState::waiting) {
    return wrong_state(id, "change", state, "a queued or waiting one");
  }
  JobRow after = *row;
  TRY_ASSIGN(const std::optional<std::string> payload, apply_patch(context, patch, after));
  const JobStanding before = patched_standing(context, patch, *row, state);
  if (payload) context.tx.update_payload(id, *payload);
  const JobStanding now = patched_standing(context, patch, after, state);
  Changed changed = changed_of(context, *row, state);
  if (state == JobState::queued) {
    changed = requeue(context, *row, state, std::move(after));
  } else {
    context.tx.update_job(*row, after);
  }
  changed.before = before;
  changed.after = now;
  return changed;
}

namespace {

bool is_meant(Context& context, const JobQuery& query, JobMatcher& matcher, const JobRow& row) {
  if (!matcher.names(context.tx.lane_names(row.lane), context.tx.type_name(row.type), row.id)) return false;
  const auto schedule = query.schedule && row.schedule ? context.tx.schedule(row.schedule) : std::nullopt;
  const bool is_of_schedule = schedule && schedule->name == *query.schedule;
  if (!matcher.told({.is_of_schedule = is_of_schedule, .subject = row.subject, .options = row.options.text()})) {
    return false;
  }
  if (!matcher.state(state_of(row, context.tx.lease(row.id)))) return false;
  return !query.text || matcher.payload(context.tx.payload(row.id));
}

}  // namespace

BulkStep act_on_matching(Context& context, const JobQuery& query, JobAction action, JobId after, BulkBounds bounds) {
  BulkStep step{.next_after = after};
  JobMatcher matcher(query);
  const std::vector<JobRow> rows = context.tx.jobs_above(after, bounds.rows);
  for (const JobRow& row : rows) {
    if (context.tx.failed() || step.changed + step.refused >= bounds.changes) return step;
    step.next_after = row.id;
    // A job that ended by an earlier one of this step is not there any more.
    const auto current = context.tx.job(row.id);
    if (!current || !is_meant(context, query, matcher, *current)) continue;
    auto changed = act_on_job(context, query.tenant, action, row.id);
    if (!changed) {
      ++step.refused;
      continue;
    }
    ++step.changed;
    step.ready.insert(step.ready.end(), changed->ready.begin(), changed->ready.end());
    changed->ready.clear();
    step.jobs.push_back(*std::move(changed));
  }
  step.end = rows.size() < bounds.rows;
  return step;
}

}  // namespace carillon
