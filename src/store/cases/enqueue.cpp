#include "store/cases/enqueue.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/hash.h"
#include "base/json_check.h"
#include "base/json_hash.h"
#include "base/mutant.h"
#include "store/cases/finish.h"
#include "store/cases/last_attempt.h"
#include "store/local_minute.h"

namespace carillon {

namespace {

constexpr std::size_t kAddedKeysMax = 20;

// Keys hold what the payload says; those from before 0004 hold its bytes. They need no mark: what one kind of hash is
// of a text, the other is of none.
std::int64_t payload_hash(std::string_view payload) { return static_cast<std::int64_t>(json_hash(payload)); }

std::int64_t hash_of_bytes(std::string_view payload) {
  return static_cast<std::int64_t>(stable_hash({"payload", payload}));
}

// As payload_hash, of what may be no JSON: then its bytes are what it says.
std::int64_t said_hash(std::string_view said) { return check_json(said) ? payload_hash(said) : hash_of_bytes(said); }

// A job that is stored already, live or finished.
std::optional<Enqueued> stored(Context& context, JobId id, bool deduplicated) {
  if (const auto row = context.tx.job(id)) {
    const JobState state = state_of(*row, context.tx.lease(id));
    return Enqueued{
        .id = id, .deduplicated = deduplicated, .state = state, .ready = ready_of(*row), .was_stored = true};
  }
  if (const auto archived = context.tx.archived(id)) {
    return Enqueued{.id = id,
                    .deduplicated = deduplicated,
                    .state = archived->job.state,
                    .ready = ready_of(archived->job),
                    .was_stored = true};
  }
  return std::nullopt;
}

// The id is the caller's: what it names may be stored already, because the first answer was lost. Else it is free.
Result<std::optional<Enqueued>> asked_before(Context& context, const NewJob& job) {
  if (!context.ids.admit(job.id, context.now)) {
    return invalid_request(fmt::format("id {} cannot have been chosen yet: it is of {}", format_job_id(job.id),
                                       format_instant(made_at(job.id))));
  }
  auto known = stored(context, job.id, false);
  if (known && context.tx.lane_names(known->ready.lane).tenant != job.tenant) {
    return failed(ErrorCode::conflict, fmt::format("id {} is not free", format_job_id(job.id)));
  }
  return known;
}

// Of one that is live or finished.
template <typename Change>
void change_detail(Context& context, JobId id, Change change) {
  const auto changed_detail = [&](const JobRow& row) {
    JobDetail detail = detail_of(context, row);
    change(row, detail);
    return StoredDetail::of(detail);
  };
  if (const auto row = context.tx.job(id)) {
    JobRow after = *row;
    after.detail = changed_detail(*row);
    context.tx.update_job(*row, after);
  } else if (const auto archived = context.tx.archived(id)) {
    context.tx.update_archived_detail(id, changed_detail(archived->job));
  }
}

void note_seen(Context& context, JobId id) {
  change_detail(context, id, [&](const JobRow& /*row*/, JobDetail& detail) { detail.last_seen_at = context.now; });
}

// A key that somebody comes with.
struct AskedKey {
  const JobStore::SaidKey& asked;
  TypeId type;
  std::int64_t hash;  // of what was said
};

// What the key says: nothing if it is free.
Result<std::optional<Enqueued>> held_by_key(Context& context, const AskedKey& key) {
  const auto held = context.tx.key(key.asked.tenant, key.type, key.asked.key);
  if (!held || (held->held_until && *held->held_until <= context.now)) return std::nullopt;
  auto holder = stored(context, held->job, true);
  if (!holder) return std::nullopt;  // pruned
  if (held->payload_hash != key.hash && held->payload_hash != hash_of_bytes(key.asked.said)) {
    return key_conflict(key.asked.type, key.asked.key, held->job);
  }
  note_seen(context, held->job);
  return holder;
}

void hold_key(Context& context, const NewJob& job, const JobRow& row, std::int64_t hash) {
  KeyRow key{
      .tenant = job.tenant, .type = row.type, .key = *job.options.idempotency_key, .job = row.id, .payload_hash = hash};
  if (job.options.unique_until.until == KeyHold::Until::elapsed) {
    key.held_until = add_clamped(context.now, job.options.unique_until.duration);
  }
  context.tx.put_key(key);
}

struct Parents {
  std::vector<JobId> open;
  std::optional<UnmetParent> unmet;  // the first that has ended, and not as done
};

Result<Parents> look_up_parents(Context& context, const NewJob& job) {
  Parents parents;
  for (const JobId id : job.depends_on) {
    const auto live = context.tx.job(id);
    const auto archived = live ? std::nullopt : context.tx.archived(id);
    const LaneId lane = live ? live->lane : archived ? archived->job.lane : LaneId{};
    if ((!live && !archived) || context.tx.lane_names(lane).tenant != job.tenant) {
      return failed(ErrorCode::dependency_not_met,
                    fmt::format("depends_on names {}, which is not stored", format_job_id(id)));
    }
    if (live && std::ranges::find(parents.open, id) == parents.open.end()) parents.open.push_back(id);
    if (archived && archived->job.state != JobState::done && !parents.unmet) {
      parents.unmet = UnmetParent{.id = id, .state = archived->job.state};
    }
  }
  return parents;
}

std::vector<JobId> once_each(const std::vector<JobId>& ids) {
  std::vector<JobId> all;
  std::unordered_set<JobId> seen;
  for (const JobId id : ids) {
    if (seen.insert(id).second) all.push_back(id);
  }
  return all;
}

// What an occurrence that is taken says to a job that wants it: the one that has it, if that is stored.
Result<std::optional<Enqueued>> holder_of(Context& context, const OutcomeRow& taken, const OccurrenceKey& occurrence) {
  auto holder = taken.job ? stored(context, taken.job, true) : std::nullopt;
  if (holder) return holder;
  return failed(ErrorCode::conflict, fmt::format("the occurrence {} of {} has its outcome already",
                                                 format_instant(occurrence.slot), quoted(occurrence.schedule)));
}

// Whose occurrence it is. Refused if it was planned before, and its row is pruned: then the position guards what the
// row guarded. (invariant 1)
Result<std::optional<Enqueued>> look_up_occurrence(Context& context, const NewJob& job, const PlannedFor* planned,
                                                   JobRow& row) {
  const OccurrenceKey& occurrence = *job.occurrence;
  std::optional<ScheduleRow> found;
  std::optional<SubjectRow> subject;
  const bool is_known = planned && planned->schedule.name == occurrence.schedule &&
                        planned->schedule.tenant == job.tenant && planned->subject.subject == occurrence.subject;
  if (!is_known) {
    found = context.tx.schedule(job.tenant, occurrence.schedule);
    if (found) subject = context.tx.subject(found->id, occurrence.subject);
  }
  const ScheduleRow* const schedule = is_known ? &planned->schedule : found ? &*found : nullptr;
  if (!schedule || schedule->deleted_at) {
    return failed(ErrorCode::not_found, fmt::format("there is no schedule {}", quoted(occurrence.schedule)));
  }
  for (std::int64_t id = 1; mutant(Mutant::occurrence_without_schedule) && id < 100; ++id) {
    const auto other = context.tx.schedule(ScheduleId{id});
    if (other && other->tenant == job.tenant && context.tx.outcome({id}, occurrence.subject, occurrence.slot)) {
      return failed(ErrorCode::conflict, "the occurrence has its outcome already");
    }
  }
  row.schedule = schedule->id;
  row.subject = occurrence.subject;
  row.slot = occurrence.slot;
  const SubjectRow* const whose = is_known ? &planned->subject : subject ? &*subject : nullptr;
  const bool was_planned = whose && whose->position && occurrence.slot <= *whose->position;
  // Mostly it is free, and taking it will say so.
  if (!was_planned && job.depends_on.empty()) return std::nullopt;
  if (const auto taken = context.tx.outcome(row.schedule, row.subject, *row.slot)) {
    return holder_of(context, *taken, occurrence);
  }
  if (!was_planned) return std::nullopt;
  return failed(ErrorCode::conflict, fmt::format("the occurrence {} of {} was planned before",
                                                 format_instant(occurrence.slot), quoted(occurrence.schedule)));
}

// Takes the occurrence for the job. It may have become one before: that one is answered.
Result<std::optional<Enqueued>> claim_occurrence(Context& context, const NewJob& job, const JobRow& row) {
  const OccurrenceKey& occurrence = *job.occurrence;
  const OutcomeRow open{.schedule = row.schedule,
                        .subject = row.subject,
                        .slot = *row.slot,
                        .until = occurrence.until,
                        .job = row.id,
                        .local_minute = local_minute_of(occurrence.slot, occurrence.local_minute)};
  if (context.tx.insert_outcome(open)) {
    context.tx.add_outcome_count(row.schedule, open.local_minute, kOpenOutcome, 1);
    return std::nullopt;
  }
  const auto taken = context.tx.outcome(row.schedule, row.subject, *row.slot);
  return holder_of(context, taken.value_or(OutcomeRow{}), occurrence);
}

void finish_at_once(Context& context, const JobRow& row, JobState state, JobDetail detail, Enqueued& answer) {
  std::vector<ReadyJob> ready;
  JobRow after = row;
  after.detail = StoredDetail::of(detail);
  finish_job(context, row, std::move(after), {.state = state, .from = row.state}, ready);
  answer.state = state;
  answer.reason = std::move(detail.reason);
  if (detail.last_error) answer.error = std::move(detail.last_error->message);
}

JobDetail overdue(JobDetail detail) {
  detail.reason = to_string(VerdictReason::deadline);
  return detail;
}

// As it is kept: one that waits for others says that they caused it.
StoredOptions options_of_new(Context& context, const NewJob& job) {
  const Cause cause = cause_of(job);
  if (cause.origin == job.options.origin) return stored_options(context, job.options);
  JobOptions options = job.options;
  options.origin = cause.origin;
  options.parent = cause.parent;
  return stored_options(context, options);
}

Result<Enqueued> enqueue(Context& context, const NewJob& job, const PlannedFor* planned) {
  TRY(check_new_job(job));
  Transaction& tx = context.tx;
  if (job.id) {
    TRY_ASSIGN(const auto known, asked_before(context, job));
    if (known) return *known;
  }
  const TypeId type = tx.type(job.type);
  std::int64_t said = 0;
  if (const auto& key = job.options.idempotency_key) {
    said = payload_hash(job.payload);
    const JobStore::SaidKey asked{.tenant = job.tenant, .type = job.type, .key = *key, .said = job.payload};
    TRY_ASSIGN(const auto holder, held_by_key(context, {.asked = asked, .type = type, .hash = said}));
    if (holder) return *holder;
  }
  JobRow row;
  if (job.occurrence) {
    TRY_ASSIGN(const auto holder, look_up_occurrence(context, job, planned, row));
    if (holder) return *holder;
  } else {
    row.subject = job.subject;
  }
  Parents parents;
  if (!job.depends_on.empty()) {
    TRY_ASSIGN(parents, look_up_parents(context, job));
  }
  row.id = job.id ? job.id : context.ids.next(context.now);
  // The first write, and the last that may refuse.
  if (job.occurrence) {
    TRY_ASSIGN(const auto holder, claim_occurrence(context, job, row));
    if (holder) return *holder;
  }

  row.lane = tx.lane(job.tenant, job.queue);
  row.type = type;
  row.priority = job.priority;
  row.run_at = up_to_millisecond(job.run_at.value_or(context.now));
  if (job.deadline) row.deadline = up_to_millisecond(*job.deadline);
  row.options = options_of_new(context, job);
  if (!job.depends_on.empty()) row.detail = StoredDetail::of({.depends_on = once_each(job.depends_on)});
  const bool cancelled = parents.unmet && !job.options.run_anyway;
  row.state = parents.open.empty() && !cancelled ? JobState::queued : JobState::waiting;
  row.later = row.state == JobState::queued && row.run_at > context.now + kFarOff;

  tx.insert_job(row, job.payload);
  tx.add_count(row.lane, row.state, 1);
  if (job.options.idempotency_key) hold_key(context, job, row, said);
  for (const JobId parent : parents.open) tx.insert_dependency(parent, row.id);
  Enqueued answer{.id = row.id, .state = row.state, .ready = ready_of(row)};
  // Known here, so that nobody has to read it again.
  answer.ready.has_options = !job.options.limits.empty() || job.options.notifies;
  answer.ready.last_attempt = is_last_attempt(row.attempts, job.options);
  if (cancelled) {
    finish_at_once(context, row, JobState::cancelled, not_met(detail_of(context, row), *parents.unmet), answer);
  } else if (row.deadline && *row.deadline <= context.now) {
    finish_at_once(context, row, JobState::cutoff_reached, overdue(detail_of(context, row)), answer);
  }
  return answer;
}

}  // namespace

Result<Enqueued> enqueue_job(Context& context, const NewJob& job) { return enqueue(context, job, nullptr); }

Result<Enqueued> enqueue_planned_job(Context& context, const NewJob& job, const PlannedFor& planned) {
  return enqueue(context, job, &planned);
}

Result<std::optional<Enqueued>> key_holder(Context& context, const JobStore::SaidKey& key) {
  return held_by_key(context, {.asked = key, .type = context.tx.type(key.type), .hash = said_hash(key.said)});
}

std::unexpected<Error> key_conflict(std::string_view type, std::string_view key, JobId holder) {
  return failed(ErrorCode::idempotency_conflict, fmt::format("key {} of type {} is held by job {} with another payload",
                                                             quoted(key), quoted(type), format_job_id(holder)));
}

void add_key(Context& context, JobId job, std::string_view key, std::string_view said) {
  change_detail(context, job, [&](const JobRow& row, JobDetail& detail) {
    const std::string& tenant = context.tx.lane_names(row.lane).tenant;
    context.tx.put_key({.tenant = tenant,
                        .type = row.type,
                        .key = std::string(key),
                        .job = job,
                        .payload_hash = said_hash(said),
                        .held_until = {}});
    detail.added_keys.emplace_back(key);
    if (detail.added_keys.size() <= kAddedKeysMax) return;
    const auto oldest = context.tx.key(tenant, row.type, detail.added_keys.front());
    if (oldest && oldest->job == job) context.tx.erase_key(*oldest);
    detail.added_keys.erase(detail.added_keys.begin());
  });
}

}  // namespace carillon
