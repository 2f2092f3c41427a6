#include "store/cases/lease.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.h"
#include "store/cases/all_or_nothing.h"
#include "store/cases/enqueue.h"
#include "store/cases/finish.h"
#include "store/cases/gates.h"
#include "store/cases/plan.h"
#include "store/cases/stale.h"
#include "store/subject_text.h"

namespace carillon {

namespace {

constexpr std::string_view kDeferred = "deferred";
constexpr std::string_view kSuperseded = "superseded";

// How the holder's word is remembered, so that a repeated call is recognised.
std::string_view end_name(const Settlement& settlement) {
  return settlement.defer ? kDeferred : to_string(settlement.end.result);
}

// An attempt that ends: the row and lease as they are, and what was said of it.
struct Ending {
  JobRow row;
  LeaseRow lease;
  JobDetail detail;
  JobOptions options;
  AttemptEnd end;
  AttemptError error;
  Instant started_at;
};

// Puts a job back, parks it or finishes it, as the verdict says. The lease is gone.
void apply_verdict(Context& context, Ending& ending, const Verdict& verdict, std::vector<ReadyJob>& ready) {
  Transaction& tx = context.tx;
  JobRow after = ending.row;
  JobDetail& detail = ending.detail;
  after.state = verdict.state;
  after.attempts = verdict.attempts;
  after.token = ending.lease.token;
  detail.losses = verdict.losses;
  detail.lost_ahead = verdict.lost_ahead;
  detail.releases = verdict.releases;
  detail.rate_limits = verdict.rate_limits;
  detail.progress.clear();
  detail.deferred_until.reset();
  detail.defer_reason.clear();
  if (verdict.reason != VerdictReason::none) detail.reason = to_string(verdict.reason);
  if (!ending.error.message.empty() || !ending.error.error_class.empty()) {
    detail.last_error =
        LastError{.code = "execution_failed", .message = ending.error.message, .error_class = ending.error.error_class};
  }
  tx.erase_lease(ending.row.id);

  if (is_final(verdict.state)) {
    // The archive holds how the attempt ended; a plain success needs no text for it.
    detail.last_end.clear();
    after.detail = StoredDetail::of(detail);
    finish_job(context, ending.row, std::move(after),
               {.state = verdict.state,
                .from = JobState::processing,
                .attempt =
                    EndingAttempt{
                        .result = ending.end.result, .worker = ending.lease.worker, .started_at = ending.started_at}},
               ready);
    return;
  }
  detail.last_end = to_string(ending.end.result);
  fold_closings(context, ending.row, detail, ending.lease.claimed_at);
  after.detail = StoredDetail::of(detail);
  if (verdict.state == JobState::queued) {
    after.run_at = verdict.run_at;
    after.later = after.run_at > context.now + kFarOff;
  } else {
    after.later = false;
  }
  tx.update_job(ending.row, after);
  tx.add_count(after.lane, JobState::processing, -1);
  tx.add_count(after.lane, after.state, 1);
  tx.insert_attempt({.job = after.id,
                     .token = ending.lease.token,
                     .number = ending.lease.attempt,
                     .result = ending.end.result,
                     .worker = ending.lease.worker,
                     .started_at = ending.started_at,
                     .finished_at = context.now,
                     .error_class = ending.error.error_class,
                     .error = ending.error.message});
  if (after.state == JobState::queued) {
    ready.push_back(ready_of(after));
  } else {
    note_parked(context, after, ready);
  }
}

// When the attempt was planned: never before the job existed, nor before the gates that held it opened. Else a delivery
// whose day began behind one of them, or while nothing ran, would be tried again right after its first failure.
Instant planned_at(Context& context, const Ending& ending) {
  const Instant claimed_at = ending.lease.claimed_at;
  // By a clock that was set back it may have been made after that.
  Instant planned = std::max(ending.row.run_at, std::min(made_at(ending.row.id), claimed_at));
  // Other policies count from the failure.
  if (!ending.options.retry || !std::holds_alternative<RetryFixed>(*ending.options.retry)) return planned;
  if (const auto opened = last_opening(context, ending.row, ending.options.notifies, claimed_at)) {
    planned = std::max(planned, *opened);
  }
  return planned;
}

Verdict verdict_of(Context& context, const Ending& ending) {
  const std::string id = format_job_id(ending.row.id);
  return after_attempt({.job = id,
                        .attempts = ending.lease.attempt,
                        .max_attempts = attempts_allowed(ending.options),
                        .retry = ending.options.retry.value_or(RetryTable{}),
                        .planned_at = planned_at(context, ending),
                        .deadline = ending.row.deadline,
                        .cancel_requested = ending.detail.cancel_requested,
                        .losses = ending.detail.losses,
                        .lost_ahead = ending.detail.lost_ahead,
                        .releases = ending.detail.releases,
                        .rate_limits = ending.detail.rate_limits},
                       ending.end, context.now);
}

// Whether an occurrence of the same subject waits only for this one's end.
bool next_one_waits(Context& context, const JobRow& row) {
  return std::ranges::any_of(context.tx.children(row.id), [&](JobId id) {
    const auto child = context.tx.job(id);
    return child && child->state == JobState::waiting && child->slot && child->schedule == row.schedule &&
           child->subject == row.subject;
  });
}

// One that yields is not tried again once its subject's next occurrence would come first, nor parked for want of
// attempts: that occurrence takes its place. So an outage neither floods the DLQ nor leaves a subject stuck.
bool yields_to_next(Context& context, const Ending& ending, const Verdict& verdict) {
  if (!ending.options.yields || !ending.row.schedule) return false;
  const bool is_tried_again = verdict.state == JobState::queued && !gives_attempt_back(ending.end.result);
  if (is_tried_again && next_one_waits(context, ending.row)) return true;
  const auto subject = context.tx.subject(ending.row.schedule, ending.row.subject);
  if (!subject || !subject->next_at) return false;
  if (verdict.state == JobState::dlq) return verdict.reason == VerdictReason::max_retries_exceeded;
  return is_tried_again && verdict.run_at >= *subject->next_at;
}

void supersede(Ending& ending, Verdict& verdict) {
  verdict.state = JobState::skipped;
  verdict.reason = VerdictReason::none;
  ending.detail.reason = kSuperseded;
}

// A plain success, which is most of them, needs no policy.
bool is_plain_success(const Ending& ending) {
  return ending.end.result == AttemptResult::ok && !ending.end.skipped &&
         (!ending.row.deadline || mutant(Mutant::success_after_cutoff));
}

Ending ending_of(Context& context, Transaction::LeasedRow leased) {
  const Instant claimed_at = leased.lease.claimed_at;
  Ending ending{.row = std::move(leased.job), .lease = std::move(leased.lease), .started_at = claimed_at};
  ending.detail = detail_of(context, ending.row);
  ending.options = options_of(context, ending.row);
  return ending;
}

// Whether the end of an attempt is told in the words that are kept of it.
Result<void> check_repeated(const Settlement& settlement, const JobDetail& kept) {
  if (kept.said == settlement.said) return {};
  if (kept.said == 0) {
    // One from before words were kept has what they left behind.
    if (!settlement.output.empty() && settlement.output == kept.output) return {};
    const bool same_error = kept.last_error && !settlement.error.message.empty() &&
                            kept.last_error->message == settlement.error.message &&
                            kept.last_error->error_class == settlement.error.error_class;
    if (same_error) return {};
  }
  return failed(ErrorCode::conflict,
                fmt::format("the attempt of job {} with token {} has ended as {} already, in other words",
                            format_job_id(settlement.job), settlement.token, end_name(settlement)));
}

// As they were told the first time.
std::vector<FollowedUp> followed_up_before(const Settlement& settlement, const JobDetail& kept) {
  std::vector<FollowedUp> then;
  if (settlement.then.size() != kept.then.size()) return then;
  for (std::size_t i = 0; i < kept.then.size(); ++i) {
    const auto& [job, kind] = kept.then[i];
    FollowedUp one{.id = job, .deduplicated = kind == KeptFollowUp::Kind::deduplicated};
    if (kind == KeptFollowUp::Kind::conflict) {
      const NewJob& asked = settlement.then[i];
      one.error = key_conflict(asked.type, asked.options.idempotency_key.value_or(""), job).error();
    }
    then.push_back(std::move(one));
  }
  return then;
}

// The call that settled the job, once more with the same token, is answered as the first time (invariant 10). What the
// store ended itself is not the holder's to settle.
Result<Settled> settled_before(Context& context, const Settlement& settlement) {
  if (const auto row = context.tx.job(settlement.job)) {
    const JobDetail detail = detail_of(context, *row);
    const bool ours =
        row->token == settlement.token && !context.tx.lease(row->id) && detail.last_end == end_name(settlement);
    if (!ours) return stale(context, settlement.job, settlement.token);
    TRY(check_repeated(settlement, detail));
    return Settled{.id = row->id, .state = row->state, .run_at = row->run_at};
  }
  const auto archived = context.tx.archived(settlement.job);
  if (!archived) return absent_job(settlement.job);
  // One that was to be put back by a gate and ended instead was taken as released.
  const AttemptResult result = settlement.defer ? AttemptResult::released : settlement.end.result;
  const bool ours = archived->job.token == settlement.token && archived->result == result;
  if (!ours) return stale(context, settlement.job, settlement.token);
  const JobDetail detail = detail_of(context, archived->job);
  TRY(check_repeated(settlement, detail));
  return Settled{.id = settlement.job,
                 .state = archived->job.state,
                 .run_at = archived->job.run_at,
                 .then = followed_up_before(settlement, detail)};
}

void defer(Context& context, Ending& ending, const Settlement::Deferral& deferral, Settled& answer) {
  std::optional<Instant> until;
  if (deferral.until) until = up_to_millisecond(*deferral.until);
  JobRow after = ending.row;
  JobDetail& detail = ending.detail;
  after.token = ending.lease.token;
  // Without an end it stays due: lifting the gate is then all that it takes.
  after.run_at = until ? std::max(*until, context.now) : std::min(after.run_at, context.now);
  after.later = after.run_at > context.now + kFarOff;
  fold_closings(context, ending.row, detail, ending.lease.claimed_at);
  add_deferral(detail, {.at = context.now, .until = until, .reason = deferral.reason});
  detail.deferred_until = until;
  detail.defer_reason = deferral.reason;
  detail.last_end = kDeferred;
  after.detail = StoredDetail::of(detail);
  context.tx.erase_lease(after.id);
  context.tx.update_job(ending.row, after);
  context.tx.add_count(after.lane, JobState::processing, -1);
  context.tx.add_count(after.lane, JobState::queued, 1);
  answer.state = JobState::queued;
  answer.run_at = after.run_at;
  answer.ready.push_back(ready_of(after));
}

// Who holds the key that a follow-up came with.
JobId holder_of_key(Context& context, const NewJob& job) {
  const auto key = context.tx.key(job.tenant, context.tx.type(job.type), job.options.idempotency_key.value_or(""));
  return key ? key->job : JobId{};
}

Result<void> create_follow_ups(Context& context, const Settlement& settlement, Ending& ending, Settled& answer) {
  const std::string tenant = context.tx.lane_names(ending.row.lane).tenant;
  std::vector<KeptFollowUp> kept;
  kept.reserve(settlement.then.size());
  answer.then.reserve(settlement.then.size());
  for (NewJob job : settlement.then) {
    job.tenant = tenant;
    job.options.origin = Origin::dependent;
    job.options.parent = ending.row.id;
    auto made = enqueue_job(context, job);
    if (!made && made.error().code == ErrorCode::idempotency_conflict) {
      // What was done stays done, whatever somebody else has sent under the key (invariant 17).
      const JobId holder = holder_of_key(context, job);
      kept.push_back({.job = holder, .kind = KeptFollowUp::Kind::conflict});
      answer.then.push_back({.id = holder, .error = std::move(made).error()});
      continue;
    }
    if (!made) return std::unexpected(with_context("then", std::move(made).error()));
    if (made->state == JobState::queued && !made->deduplicated) answer.ready.push_back(made->ready);
    kept.push_back(
        {.job = made->id, .kind = made->deduplicated ? KeptFollowUp::Kind::deduplicated : KeptFollowUp::Kind::made});
    answer.then.push_back({.id = made->id, .deduplicated = made->deduplicated});
  }
  if (settlement.said == 0 || kept.empty()) return {};
  // The job is in the archive by now: what a key holds until its end is free for those that follow.
  ending.detail.then = std::move(kept);
  context.tx.update_archived_detail(ending.row.id, StoredDetail::of(ending.detail));
  return {};
}

// Most attempts end so; if their job is as plain, nothing has to be read to settle it.
bool says_nothing_but_success(const Settlement& settlement) {
  return settlement.end.result == AttemptResult::ok && !settlement.end.skipped && !settlement.defer &&
         settlement.output.empty() && settlement.stderr_text.empty() && settlement.reason.empty() &&
         settlement.then.empty() && !settlement.subject && settlement.error.message.empty() &&
         settlement.error.error_class.empty() && settlement.said == 0;
}

constexpr std::string_view kCheckFailed = "error";

// What is known of a subject after a job of it: from its handler, or because a check has ended, or failed for the last
// time.
struct Learnt {
  Settlement::SubjectChange change;
  bool checked = false;  // a check has come to its end
};

void change_subject(Context& context, const Learnt& learnt, const JobRow& row) {
  const auto& [change, checked] = learnt;
  auto subject = context.tx.subject(row.schedule, row.subject);
  if (!subject) return;
  auto state = read_subject_state(*subject);
  if (!state) return context.tx.fail(std::move(state).error());
  const SubjectState before = *state;
  if (change.expected_at || change.forgets_expected_at) state->expected_at = change.expected_at;
  if (change.status) {
    state->last_status = *change.status;
    if (*change.status == "available") state->last_available_at = context.now;
  } else if (checked && state->last_status == kCheckFailed) {
    state->last_status.clear();  // it has not failed this time
  }
  if (checked || change.status) state->last_checked_at = context.now;
  if (*state == before) return;
  write_subject_state(*state, *subject);
  ++subject->version;
  context.tx.update_subject(subject->next_at, *subject);
}

Learnt failed_check() { return {.change = {.expected_at = {}, .status = std::string(kCheckFailed)}, .checked = true}; }

Result<Settled> settle_with_lease(Context& context, const Settlement& settlement, Transaction::LeasedRow leased) {
  Ending ending = ending_of(context, std::move(leased));
  ending.end = settlement.end;
  ending.error = settlement.error;
  ending.started_at = settlement.started_at.value_or(ending.lease.claimed_at);
  if (!settlement.output.empty()) ending.detail.output = settlement.output;
  if (!settlement.stderr_text.empty()) ending.detail.stderr_text = settlement.stderr_text;
  if (!settlement.reason.empty()) ending.detail.reason = settlement.reason;
  ending.detail.said = settlement.said;
  Settled answer{.id = settlement.job};

  if (settlement.defer) {
    const bool overdue = ending.row.deadline && *ending.row.deadline <= context.now;
    if (!overdue && !ending.detail.cancel_requested) {
      defer(context, ending, *settlement.defer, answer);
      return answer;
    }
    // Put back is not what will happen to it: it ends, like a released one, and no attempt was used.
    ending.end = {.result = AttemptResult::released, .started = false};
  }
  Verdict verdict;
  if (is_plain_success(ending)) {
    verdict = {.state = JobState::done, .attempts = ending.lease.attempt};
  } else {
    verdict = verdict_of(context, ending);
  }
  if (settlement.hold && !is_final(verdict.state)) {
    verdict.state = JobState::dlq;
    verdict.reason = VerdictReason::none;
    ending.detail.reason = kAmbiguousEffect;
  }
  const bool superseded = yields_to_next(context, ending, verdict);
  if (superseded) supersede(ending, verdict);
  apply_verdict(context, ending, verdict, answer.ready);
  if (superseded) change_subject(context, failed_check(), ending.row);
  const bool checked = ending.options.yields && verdict.state == JobState::done;
  if (ending.row.schedule && (settlement.subject || checked)) {
    const Settlement::SubjectChange nothing{.expected_at = {}, .status = {}};
    change_subject(context, {.change = settlement.subject.value_or(nothing), .checked = checked}, ending.row);
  }
  answer.state = verdict.state;
  answer.run_at = verdict.state == JobState::queued ? verdict.run_at : ending.row.run_at;
  const bool completed = !superseded && (verdict.state == JobState::done || verdict.state == JobState::skipped);
  if (completed) TRY(create_follow_ups(context, settlement, ending, answer));
  return answer;
}

}  // namespace

Result<LeaseRow> current_lease(Context& context, JobId job, std::int64_t token) {
  auto lease = context.tx.lease(job);
  if (!lease || (lease->token != token && !mutant(Mutant::no_fence_check))) return stale(context, job, token);
  return *std::move(lease);
}

void lift_ahead(Context& context, std::span<const LeaseKey> leases) {
  for (const auto& [job, token] : leases) {
    auto lease = context.tx.lease(job);
    if (!lease || lease->token != token || !lease->ahead) continue;
    lease->ahead = false;
    context.tx.update_lease(*lease);
  }
}

Result<Extended> extend_lease(Context& context, const Extension& extension) {
  TRY_ASSIGN(LeaseRow lease, current_lease(context, extension.job, extension.token));
  const auto row = context.tx.job(extension.job);
  if (!row) return absent_job(extension.job);
  if (!extension.started) lease.timeout_at = context.boot + options_of(context, *row).timeout;
  if (lease.timeout_at <= context.boot) return stale(context, extension.job, extension.token);  // invariant 13
  lease.until = std::min(context.boot + lease.length, lease.timeout_at);
  context.tx.update_lease(lease);
  JobDetail detail = detail_of(context, *row);
  if (extension.progress && *extension.progress != detail.progress) {
    JobRow after = *row;
    detail.progress = *extension.progress;
    after.detail = StoredDetail::of(detail);
    context.tx.update_job(*row, after);
  }
  return Extended{.lease_until = wall_of(context, lease.until), .cancel_requested = detail.cancel_requested};
}

Result<Settled> settle_attempt(Context& context, const Settlement& settlement) {
  if (says_nothing_but_success(settlement)) {
    const auto lane = context.tx.archive_plain_success({.job = settlement.job,
                                                        .token = settlement.token,
                                                        .started_at = settlement.started_at,
                                                        .finished_at = context.now});
    if (lane) {
      context.tx.add_count(*lane, JobState::processing, -1);
      context.tx.add_count(*lane, JobState::done, 1);
      return Settled{.id = settlement.job};
    }
  }
  auto leased = context.tx.leased_job(settlement.job);
  const bool is_fenced = leased && leased->lease.token != settlement.token && !mutant(Mutant::no_fence_check);
  if (!leased || is_fenced) return settled_before(context, settlement);
  // Only a follow-up may be refused after something was written.
  if (settlement.then.empty()) return settle_with_lease(context, settlement, *std::move(leased));
  return all_or_nothing(context, [&] { return settle_with_lease(context, settlement, *std::move(leased)); });
}

std::vector<Reaped> reap_leases(Context& context, std::size_t limit) {
  std::vector<Reaped> reaped;
  for (const LeaseRow& lease : context.tx.leases_out(context.boot, limit)) {
    auto leased = context.tx.leased_job(lease.job);
    if (!leased) {
      context.tx.fail({.code = ErrorCode::database_error,
                       .message = fmt::format("job {} has a lease and no row", format_job_id(lease.job))});
      break;
    }
    Ending ending = ending_of(context, *std::move(leased));
    // At its timeout an attempt ends as `timeout`; as lost only if the lease ran out earlier (invariant 13).
    const bool timed_out = lease.until >= lease.timeout_at;
    ending.end.result = timed_out ? AttemptResult::timeout : AttemptResult::lease_lost;
    ending.end.ahead = lease.ahead;
    ending.detail.said = 0;
    ending.error = {.message = timed_out ? "the attempt took longer than its timeout"
                                         : "the worker was not heard from before its lease ran out",
                    .error_class = std::string(to_string(ending.end.result))};
    Verdict verdict = verdict_of(context, ending);
    const bool superseded = yields_to_next(context, ending, verdict);
    if (superseded) supersede(ending, verdict);
    Reaped answer{.id = lease.job,
                  .tenant = context.tx.lane_names(ending.row.lane).tenant,
                  .type = context.tx.type_name(ending.row.type),
                  .result = ending.end.result,
                  .worker = lease.worker,
                  .state = verdict.state};
    apply_verdict(context, ending, verdict, answer.ready);
    if (superseded) change_subject(context, failed_check(), ending.row);
    reaped.push_back(std::move(answer));
  }
  return reaped;
}

namespace {

VerdictReason why_not_started(Context& context, const JobRow& row, VerdictReason waiting) {
  const auto schedule = row.schedule ? context.tx.schedule(row.schedule) : std::nullopt;
  if (schedule && holds_its_jobs(*schedule, context.now)) return VerdictReason::paused;
  if (schedule && !row.subject.empty() && !context.tx.is_enabled(row.schedule, row.subject)) {
    return VerdictReason::paused;
  }
  return row.state == JobState::queued ? waiting : VerdictReason::deadline;
}

}  // namespace

std::optional<Changed> finish_overdue_job(Context& context, JobId id, VerdictReason waiting) {
  const auto row = context.tx.job(id);
  if (!row) return std::nullopt;
  const auto lease = context.tx.lease(id);
  if (lease && mutant(Mutant::running_spared_at_cutoff)) return std::nullopt;
  JobRow after = *row;
  JobDetail detail = detail_of(context, *row);
  detail.reason = to_string(lease ? VerdictReason::deadline : why_not_started(context, *row, waiting));
  Finish finish{.state = JobState::cutoff_reached, .from = state_of(*row, lease)};
  if (lease) {
    after.attempts = lease->attempt;
    after.token = lease->token;
    finish.attempt =
        EndingAttempt{.result = AttemptResult::cancelled, .worker = lease->worker, .started_at = lease->claimed_at};
    context.tx.erase_lease(id);
  }
  after.detail = StoredDetail::of(detail);
  Changed changed = changed_of(context, *row, finish.state);
  finish_job(context, *row, std::move(after), finish, changed.ready);
  return changed;
}

}  // namespace carillon
