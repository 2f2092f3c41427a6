#include "store/cases/enqueue.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/mutant.h"
#include "store/cases/finish.h"
#include "store/local_minute.h"

namespace carillon {

namespace {

constexpr std::size_t kAddedKeysMax = 20;

std::int64_t payload_hash(std::string_view payload) {
  return static_cast<std::int64_t>(stable_hash({"payload", payload}));
}

// A job that is stored already, live or finished.
std::optional<Enqueued> stored(Context& context, JobId id, bool deduplicated) {
  if (const auto row = context.tx.job(id)) {
    const JobState state = state_of(*row, context.tx.lease(id));
    return Enqueued{.id = id, .deduplicated = deduplicated, .state = state, .ready = ready_of(*row)};
  }
  if (const auto archived = context.tx.archived(id)) {
    return Enqueued{
        .id = id, .deduplicated = deduplicated, .state = archived->job.state, .ready = ready_of(archived->job)};
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
    return write_detail(detail);
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

// What the key says: nothing if it is free.
Result<std::optional<Enqueued>> held_by_key(Context& context, const NewJob& job, TypeId type) {
  const std::string& name = job.options.idempotency_key;
  const auto key = context.tx.key(job.tenant, type, name);
  if (!key || (key->held_until && *key->held_until <= context.now)) return std::nullopt;
  auto holder = stored(context, key->job, true);
  if (!holder) return std::nullopt;  // pruned
  if (key->payload_hash != payload_hash(job.payload)) {
    return failed(ErrorCode::idempotency_conflict,
                  fmt::format("key {} of type {} is held by job {} with another payload", quoted(name),
                              quoted(job.type), format_job_id(key->job)));
  }
  note_seen(context, key->job);
  return holder;
}

void hold_key(Context& context, const NewJob& job, const JobRow& row) {
  KeyRow key{.tenant = job.tenant,
             .type = row.type,
             .key = job.options.idempotency_key,
             .job = row.id,
             .payload_hash = payload_hash(job.payload)};
  if (job.options.unique_until.until == KeyHold::Until::elapsed) {
    key.held_until = add_clamped(context.now, job.options.unique_until.duration);
  }
  context.tx.put_key(key);
}

struct Parents {
  std::vector<JobId> open;
  bool one_not_met = false;  // one has ended, and not as done
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
    if (archived && archived->job.state != JobState::done) parents.one_not_met = true;
  }
  return parents;
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

void finish_at_once(Context& context, const JobRow& row, JobState state, std::string_view reason, Enqueued& answer) {
  std::vector<ReadyJob> ready;
  JobRow after = row;
  after.detail = write_detail({.reason = std::string(reason)});
  finish_job(context, row, std::move(after), {.state = state, .from = row.state}, ready);
  answer.state = state;
}

Result<Enqueued> enqueue(Context& context, const NewJob& job, const PlannedFor* planned) {
  TRY(check_new_job(job));
  Transaction& tx = context.tx;
  if (job.id) {
    TRY_ASSIGN(const auto known, asked_before(context, job));
    if (known) return *known;
  }
  const TypeId type = tx.type(job.type);
  const bool has_key = !job.options.idempotency_key.empty();
  if (has_key) {
    TRY_ASSIGN(const auto holder, held_by_key(context, job, type));
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
  row.run_at = job.run_at.value_or(context.now);
  row.deadline = job.deadline;
  row.options = options_text(context, job.options);
  const bool cancelled = parents.one_not_met && !job.options.run_anyway;
  row.state = parents.open.empty() && !cancelled ? JobState::queued : JobState::waiting;
  row.later = row.state == JobState::queued && row.run_at > context.now + kFarOff;

  tx.insert_job(row, job.payload);
  tx.add_count(row.lane, row.state, 1);
  if (has_key) hold_key(context, job, row);
  for (const JobId parent : parents.open) tx.insert_dependency(parent, row.id);
  Enqueued answer{.id = row.id, .state = row.state, .ready = ready_of(row)};
  // Known here, so that nobody has to read it again.
  answer.ready.has_options = !job.options.limits.empty() || job.options.notifies;
  if (cancelled) {
    finish_at_once(context, row, JobState::cancelled, "dependency_not_met", answer);
  } else if (row.deadline && *row.deadline <= context.now) {
    finish_at_once(context, row, JobState::cutoff_reached, to_string(VerdictReason::deadline), answer);
  }
  return answer;
}

}  // namespace

Result<Enqueued> enqueue_job(Context& context, const NewJob& job) { return enqueue(context, job, nullptr); }

Result<Enqueued> enqueue_planned_job(Context& context, const NewJob& job, const PlannedFor& planned) {
  return enqueue(context, job, &planned);
}

Result<std::optional<Enqueued>> key_holder(Context& context, const JobStore::SaidKey& key) {
  NewJob asked{.tenant = std::string(key.tenant), .type = std::string(key.type), .payload = std::string(key.said)};
  asked.options.idempotency_key = key.key;
  return held_by_key(context, asked, context.tx.type(key.type));
}

void add_key(Context& context, JobId job, std::string_view key, std::string_view said) {
  change_detail(context, job, [&](const JobRow& row, JobDetail& detail) {
    const std::string& tenant = context.tx.lane_names(row.lane).tenant;
    context.tx.put_key({.tenant = tenant,
                        .type = row.type,
                        .key = std::string(key),
                        .job = job,
                        .payload_hash = payload_hash(said),
                        .held_until = {}});
    detail.added_keys.emplace_back(key);
    if (detail.added_keys.size() <= kAddedKeysMax) return;
    const auto oldest = context.tx.key(tenant, row.type, detail.added_keys.front());
    if (oldest && oldest->job == job) context.tx.erase_key(*oldest);
    detail.added_keys.erase(detail.added_keys.begin());
  });
}

}  // namespace carillon
