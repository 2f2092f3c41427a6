#include "store/memory/memory_transaction.h"

#include <algorithm>

#include "base/check.h"
#include "core/triggers/trigger_kind.h"
#include "store/cases/context.h"
#include "store/local_minute.h"

namespace carillon {

namespace {

// The number of the row that holds `value`; a new one if there is none.
template <typename Map, typename Value>
std::int64_t intern(Map& map, const Value& value) {
  for (const auto& [id, known] : map) {
    if (known == value) return id;
  }
  const std::int64_t id = static_cast<std::int64_t>(map.size()) + 1;
  map.emplace(id, value);
  return id;
}

// The rows above a key, in the order of keys.
template <typename Map, typename Key>
auto above(const Map& map, const Key& after, std::size_t limit) {
  std::vector<std::remove_cvref_t<decltype(map.rows().begin()->second)>> found;
  for (auto row = map.rows().upper_bound(after); row != map.rows().end() && found.size() < limit; ++row) {
    found.push_back(row->second);
  }
  return found;
}

}  // namespace

void MemoryTransaction::begin() {
  failure_.reset();
  tables_.undo.clear();
}

Result<void> MemoryTransaction::commit() {
  if (failure_) {
    roll_back();
    return std::unexpected(*failure_);
  }
  tables_.undo.clear();
  return {};
}

void MemoryTransaction::roll_back() { tables_.undo.roll_back_to(0); }

void MemoryTransaction::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
}

LaneId MemoryTransaction::lane(std::string_view tenant, std::string_view queue) {
  return {intern(tables_.lanes, Lane{.tenant = std::string(tenant), .queue = std::string(queue)})};
}

const Lane& MemoryTransaction::lane_names(LaneId lane) { return tables_.lanes.at(lane.value); }

TypeId MemoryTransaction::type(std::string_view name) { return {intern(tables_.types, std::string(name))}; }

const std::string& MemoryTransaction::type_name(TypeId type) { return tables_.types.at(type.value); }

std::optional<Transaction::JobWithPayload> MemoryTransaction::job_with_payload(JobId id) {
  const auto row = job(id);
  return row ? std::optional(JobWithPayload{.row = *row, .payload = payload(id)}) : std::nullopt;
}

void MemoryTransaction::insert_job(const JobRow& row, std::string_view payload) {
  CHECK(!tables_.jobs.find(row.id) && !tables_.archive.find(row.id));
  tables_.jobs.put(row.id, row);
  tables_.payloads.put(row.id, std::string(payload));
}

void MemoryTransaction::update_payload(JobId id, std::string_view payload) {
  CHECK(tables_.jobs.find(id));
  tables_.payloads.put(id, std::string(payload));
}

void MemoryTransaction::update_job(const JobRow& before, const JobRow& after) {
  const JobRow* const known = tables_.jobs.find(before.id);
  CHECK(known && *known == before && before.id == after.id);
  tables_.jobs.put(after.id, after);
}

std::vector<JobRow> MemoryTransaction::jobs_above(JobId after, std::size_t limit) {
  return above(tables_.jobs, after, limit);
}

LivePage MemoryTransaction::ready_above(JobId after, Instant until, std::size_t limit) {
  LivePage page{.next_after = after};
  const std::vector<JobRow> rows = jobs_above(after, limit);
  for (const JobRow& row : rows) {
    page.next_after = row.id;
    const bool stays_on_disk = row.later && row.run_at > until;
    if (row.state == JobState::queued && !stays_on_disk && !lease(row.id)) page.jobs.push_back(ready_of(row));
  }
  page.end = rows.size() < limit;
  return page;
}

std::vector<ReadyJob> MemoryTransaction::far_off(Instant from, Instant until, std::size_t limit) {
  std::vector<ReadyJob> found;
  for (auto at = tables_.far_off.upper_bound({from, kJobIdMax}); at != tables_.far_off.end() && found.size() < limit;
       ++at) {
    if (at->first > until) break;
    if (!tables_.leases.find(at->second)) found.push_back(ready_of(*tables_.jobs.find(at->second)));
  }
  return found;
}

std::vector<JobId> MemoryTransaction::deadlines(Instant until, std::size_t limit) {
  std::vector<JobId> ids;
  for (const auto& [deadline, id] : tables_.deadlines) {
    if (deadline > until || ids.size() == limit) break;
    ids.push_back(id);
  }
  return ids;
}

void MemoryTransaction::archive(const JobRow& before, const ArchiveRow& row) {
  const JobRow* const known = tables_.jobs.find(before.id);
  CHECK(known && *known == before && is_final(row.job.state));
  tables_.jobs.erase(before.id);
  ArchiveRow kept = row;
  kept.job.later = false;
  tables_.archive.put(before.id, kept);
}

std::optional<LaneId> MemoryTransaction::archive_plain_success(const PlainSuccess& success) {
  const auto leased = leased_job(success.job);
  if (!leased || leased->lease.token != success.token) return std::nullopt;
  const auto& [lease, job] = *leased;
  const bool plain = !job.deadline && !job.schedule && job.options.empty() && job.detail.empty() && !job.later &&
                     children(job.id).empty();
  if (!plain) return std::nullopt;
  ArchiveRow row{.job = job,
                 .finished_at = success.finished_at,
                 .result = AttemptResult::ok,
                 .worker = lease.worker,
                 .started_at = success.started_at.value_or(lease.claimed_at)};
  row.job.state = JobState::done;
  row.job.attempts = lease.attempt;
  row.job.token = lease.token;
  archive(job, row);
  erase_lease(job.id);
  return job.lane;
}

std::vector<ArchiveRow> MemoryTransaction::archived_above(JobId after, std::size_t limit) {
  return above(tables_.archive, after, limit);
}

void MemoryTransaction::update_archived_detail(JobId id, const StoredDetail& detail) {
  ArchiveRow row = tables_.archive.rows().at(id);
  row.job.detail = detail;
  tables_.archive.put(id, row);
}

void MemoryTransaction::erase_archived(const ArchiveRow& row) {
  const JobId id = row.job.id;
  tables_.archive.erase(id);
  tables_.payloads.erase(id);
  std::vector<std::int64_t> tokens;
  const auto& attempts = tables_.attempts.rows();
  for (auto attempt = attempts.lower_bound({id, 0}); attempt != attempts.end() && attempt->first.first == id;
       ++attempt) {
    tokens.push_back(attempt->first.second);
  }
  for (const std::int64_t token : tokens) tables_.attempts.erase({id, token});
}

void MemoryTransaction::insert_attempt(const AttemptRow& row) { tables_.attempts.put({row.job, row.token}, row); }

std::optional<Transaction::LeasedRow> MemoryTransaction::leased_job(JobId job) {
  const auto lease = tables_.leases.get(job);
  const auto row = tables_.jobs.get(job);
  return lease && row ? std::optional(LeasedRow{.lease = *lease, .job = *row}) : std::nullopt;
}

bool MemoryTransaction::insert_lease(const LeaseRow& row) {
  if (tables_.leases.find(row.job)) return false;
  tables_.leases.put(row.job, row);
  return true;
}

std::vector<LeaseRow> MemoryTransaction::leases() {
  std::vector<LeaseRow> found;
  for (const auto& [id, row] : tables_.leases.rows()) found.push_back(row);
  return found;
}

std::vector<LeaseRow> MemoryTransaction::leases_out(BootTime now, std::size_t limit) {
  std::vector<LeaseRow> found;
  for (const auto& [id, row] : tables_.leases.rows()) {
    if (row.until <= now && found.size() < limit) found.push_back(row);
  }
  return found;
}

std::optional<KeyRow> MemoryTransaction::key(std::string_view tenant, TypeId type, std::string_view key) {
  return tables_.keys.get({std::string(tenant), type, std::string(key)});
}

void MemoryTransaction::put_key(const KeyRow& row) { tables_.keys.put({row.tenant, row.type, row.key}, row); }

void MemoryTransaction::erase_key(const KeyRow& row) { tables_.keys.erase({row.tenant, row.type, row.key}); }

std::optional<EffectRow> MemoryTransaction::effect(std::string_view tenant, std::string_view key) {
  return tables_.effects.get({std::string(tenant), std::string(key)});
}

void MemoryTransaction::put_effect(const EffectRow& row) { tables_.effects.put({row.tenant, row.key}, row); }

void MemoryTransaction::erase_effect(std::string_view tenant, std::string_view key) {
  tables_.effects.erase({std::string(tenant), std::string(key)});
}

std::size_t MemoryTransaction::erase_effects_before(Instant at, std::size_t limit) {
  std::vector<std::pair<std::string, std::string>> old;
  for (const auto& [key, row] : tables_.effects.rows()) {
    if (row.at < at && old.size() < limit) old.push_back(key);
  }
  for (const auto& key : old) tables_.effects.erase(key);
  return old.size();
}

namespace {

// Erases up to `limit` of the rows that `is_meant`.
template <typename Map, typename IsMeant>
std::size_t erase_some(Map& map, std::size_t limit, IsMeant is_meant) {
  std::vector<typename std::decay_t<decltype(map.rows())>::key_type> meant;
  for (const auto& [key, row] : map.rows()) {
    if (meant.size() == limit) break;
    if (is_meant(row)) meant.push_back(key);
  }
  for (const auto& key : meant) map.erase(key);
  return meant.size();
}

}  // namespace

std::size_t MemoryTransaction::erase_keys_of(std::string_view tenant, std::size_t limit) {
  return erase_some(tables_.keys, limit, [&](const KeyRow& row) { return row.tenant == tenant; });
}

std::size_t MemoryTransaction::erase_effects_of(std::string_view tenant, std::size_t limit) {
  return erase_some(tables_.effects, limit, [&](const EffectRow& row) { return row.tenant == tenant; });
}

std::size_t MemoryTransaction::erase_audit_of(std::string_view tenant, std::size_t limit) {
  return erase_some(tables_.audit, limit, [&](const AuditRow& row) { return row.tenant == tenant; });
}

std::vector<JobId> MemoryTransaction::children(JobId parent) {
  std::vector<JobId> found;
  const auto& edges = tables_.dependencies.rows();
  for (auto edge = edges.lower_bound({parent, JobId{}}); edge != edges.end() && edge->first.first == parent; ++edge) {
    found.push_back(edge->first.second);
  }
  return found;
}

std::vector<JobId> MemoryTransaction::parents(JobId child) {
  std::vector<JobId> found;
  for (const auto& [edge, present] : tables_.dependencies.rows()) {
    if (edge.second == child) found.push_back(edge.first);
  }
  return found;
}

void MemoryTransaction::erase_parents(JobId child) {
  for (const JobId parent : parents(child)) erase_dependency(parent, child);
}

void MemoryTransaction::add_count(LaneId lane, JobState state, std::int64_t change) {
  tables_.counts.put({lane, state}, tables_.counts.get({lane, state}).value_or(0) + change);
}

std::int64_t MemoryTransaction::live_jobs_of(std::string_view tenant) {
  std::int64_t sum = 0;
  for (const auto& [key, count] : tables_.counts.rows()) {
    if (!is_final(key.second) && lane_names(key.first).tenant == tenant) sum += count;
  }
  return sum;
}

std::optional<ScheduleRow> MemoryTransaction::schedule(std::string_view tenant, std::string_view name) {
  for (const auto& [id, row] : tables_.schedules.rows()) {
    if (row.tenant == tenant && row.name == name) return row;
  }
  return std::nullopt;
}

ScheduleId MemoryTransaction::insert_schedule(const ScheduleRow& row) {
  ScheduleRow kept = row;
  kept.id = {++tables_.last_schedule};
  tables_.schedules.put(kept.id, kept);
  return kept.id;
}

void MemoryTransaction::update_schedule(const ScheduleRow& row) {
  const ScheduleRow* const known = tables_.schedules.find(row.id);
  CHECK(known);
  ScheduleRow kept = row;
  kept.results = row.deleted_at ? ScheduleResults{} : known->results;
  tables_.schedules.put(row.id, kept);
}

void MemoryTransaction::add_result(const EndedOccurrence& ended) {
  auto row = tables_.schedules.get(ended.schedule);
  if (!row || row->deleted_at || row->generation != ended.generation) return;
  ResultsChange change;
  change.add(ended);
  change.apply_to(row->results);
  tables_.schedules.put(row->id, *row);
}

std::vector<ScheduleHead> MemoryTransaction::schedule_heads(ScheduleId after, std::size_t limit) {
  std::vector<ScheduleHead> heads;
  const auto& rows = tables_.schedules.rows();
  for (auto found = rows.upper_bound(after); found != rows.end() && heads.size() < limit; ++found) {
    const ScheduleRow& row = found->second;
    if (row.deleted_at) continue;
    ScheduleHead head{.schedule = row.id, .enabled = row.enabled, .paused_until = row.paused_until};
    head.next_at = next_subject_at(row.id);
    heads.push_back(head);
  }
  return heads;
}

std::vector<ScheduleRow> MemoryTransaction::followers_above(ScheduleId after, std::size_t limit) {
  const auto follows = [](const ScheduleRow& row) {
    if (!may_be_of_kind(row.definition, [](const TriggerKind& one) { return one.follows != nullptr; })) return false;
    const auto definition = parse_json(row.definition);
    const Json* const trigger = definition ? definition->find("trigger") : nullptr;
    const Json* const kind = trigger ? trigger->find("kind") : nullptr;
    const TriggerKind* const known = kind ? find_kind(kind->text) : nullptr;
    return known && known->follows;
  };
  std::vector<ScheduleRow> found;
  const auto& rows = tables_.schedules.rows();
  for (auto next = rows.upper_bound(after); next != rows.end() && found.size() < limit; ++next) {
    if (!next->second.deleted_at && follows(next->second)) found.push_back(next->second);
  }
  return found;
}

std::vector<ScheduleRow> MemoryTransaction::schedules_above(ScheduleId after, std::size_t limit) {
  return above(tables_.schedules, after, limit);
}

void MemoryTransaction::erase_schedule(ScheduleId id) { tables_.schedules.erase(id); }

bool MemoryTransaction::has_rows_of(ScheduleId id) {
  const auto is_of = [&](const auto& entry) { return entry.first.schedule == id; };
  return std::ranges::any_of(tables_.subjects.rows(), is_of) || std::ranges::any_of(tables_.outcomes.rows(), is_of);
}

std::optional<SubjectRow> MemoryTransaction::subject(ScheduleId schedule, std::string_view subject) {
  return tables_.subjects.get({schedule, std::string(subject)});
}

bool MemoryTransaction::is_enabled(ScheduleId schedule, std::string_view subject) {
  const SubjectRow* const row = tables_.subjects.find({schedule, std::string(subject)});
  return !row || row->enabled;
}

bool MemoryTransaction::insert_subject(const SubjectRow& row) {
  const SubjectKey key{row.schedule, row.subject};
  if (tables_.subjects.find(key)) return false;
  tables_.subjects.put(key, row);
  return true;
}

void MemoryTransaction::update_subject(std::optional<Instant> next_at_before, const SubjectRow& row) {
  const SubjectKey key{row.schedule, row.subject};
  const SubjectRow* const known = tables_.subjects.find(key);
  CHECK(known && known->next_at == next_at_before);
  tables_.subjects.put(key, row);
}

void MemoryTransaction::add_subjects(ScheduleId schedule, std::int64_t change) {
  auto row = tables_.schedules.get(schedule);
  CHECK(row);
  row->subjects += change;
  tables_.schedules.put(schedule, *row);
}

std::optional<Instant> MemoryTransaction::next_subject_at(ScheduleId schedule) {
  const auto first = tables_.due.lower_bound({schedule, kInstantMin, {}});
  if (first == tables_.due.end() || std::get<0>(*first) != schedule) return std::nullopt;
  return std::get<1>(*first);
}

std::vector<SubjectRow> MemoryTransaction::subjects_above(const SubjectKey& after, std::size_t limit) {
  return above(tables_.subjects, after, limit);
}

void MemoryTransaction::erase_subject(const SubjectKey& key) { tables_.subjects.erase(key); }

std::vector<SubjectRow> MemoryTransaction::subjects_due(ScheduleId schedule, Instant until, std::size_t limit) {
  std::vector<SubjectRow> found;
  for (auto entry = tables_.due.lower_bound({schedule, kInstantMin, {}});
       entry != tables_.due.end() && found.size() < limit; ++entry) {
    const auto& [of, next_at, subject] = *entry;
    if (of != schedule || next_at > until) break;
    found.push_back(*tables_.subjects.get({schedule, subject}));
  }
  return found;
}

std::optional<OutcomeRow> MemoryTransaction::outcome(ScheduleId schedule, std::string_view subject, Instant slot) {
  return tables_.outcomes.get({schedule, std::string(subject), slot});
}

std::optional<OutcomeRow> MemoryTransaction::outcome_until(ScheduleId schedule, std::string_view subject,
                                                           Instant slot) {
  const auto& rows = tables_.outcomes.rows();
  const auto above = rows.upper_bound({schedule, std::string(subject), slot});
  if (above == rows.begin()) return std::nullopt;
  const OutcomeRow& row = std::prev(above)->second;
  return row.schedule == schedule && row.subject == subject ? std::optional(row) : std::nullopt;
}

bool MemoryTransaction::insert_outcome(const OutcomeRow& row) {
  const OutcomeKey key{row.schedule, row.subject, row.slot};
  if (tables_.outcomes.find(key)) return false;
  tables_.outcomes.put(key, row);
  return true;
}

void MemoryTransaction::update_outcome(const OutcomeRow& row) {
  const OutcomeKey key{row.schedule, row.subject, row.slot};
  CHECK(tables_.outcomes.find(key));
  tables_.outcomes.put(key, row);
}

std::size_t MemoryTransaction::open_outcomes(ScheduleId schedule, std::string_view subject, Instant from,
                                             std::size_t most) {
  std::size_t count = 0;
  const auto& rows = tables_.outcomes.rows();
  for (auto entry = rows.lower_bound({schedule, std::string(subject), from}); entry != rows.end(); ++entry) {
    const OutcomeRow& row = entry->second;
    if (row.schedule != schedule || row.subject != subject || count == most) break;
    if (!row.outcome && !row.parked) ++count;
  }
  return count;
}

void MemoryTransaction::erase_outcome(ScheduleId schedule, std::string_view subject, Instant slot) {
  tables_.outcomes.erase({schedule, std::string(subject), slot});
}

std::vector<OutcomeRow> MemoryTransaction::outcomes_above(const OutcomeKey& after, std::size_t limit) {
  return above(tables_.outcomes, after, limit);
}

void MemoryTransaction::add_outcome_count(ScheduleId schedule, std::int64_t local_minute, JobState outcome,
                                          std::int64_t change) {
  const auto key = std::tuple(schedule, local_minute, outcome);
  tables_.outcome_counts.put(key, tables_.outcome_counts.get(key).value_or(0) + change);
}

std::int64_t MemoryTransaction::open_on_days(ScheduleId schedule, const DayRange& days) {
  std::int64_t open = 0;
  const auto& rows = tables_.outcome_counts.rows();
  for (auto row = rows.lower_bound({schedule, days.first * kMinutesOfDay, JobState{}}); row != rows.end(); ++row) {
    const auto& [of, local_minute, outcome] = row->first;
    if (of != schedule || day_minute_of(local_minute).day > days.last) break;
    if (outcome == kOpenOutcome || outcome == JobState::dlq) open += row->second;
  }
  return open;
}

void MemoryTransaction::erase_outcome_counts(ScheduleId schedule, std::int64_t day) {
  std::vector<std::tuple<ScheduleId, std::int64_t, JobState>> old;
  const auto& rows = tables_.outcome_counts.rows();
  for (auto row = rows.lower_bound({schedule, INT64_MIN, JobState{}});
       row != rows.end() && std::get<0>(row->first) == schedule && day_minute_of(std::get<1>(row->first)).day < day;
       ++row) {
    old.push_back(row->first);
  }
  for (const auto& key : old) tables_.outcome_counts.erase(key);
}

std::vector<Document> MemoryTransaction::documents_above(const DocumentKey& after, std::size_t limit) {
  return above(tables_.documents, after, limit);
}

void MemoryTransaction::append_audit(const AuditRow& row) {
  AuditRow kept = row;
  const auto& rows = tables_.audit.rows();
  kept.sequence = rows.empty() ? 1 : rows.rbegin()->first + 1;
  tables_.audit.put(kept.sequence, kept);
}

std::size_t MemoryTransaction::erase_audit_before(Instant at, std::size_t limit) {
  std::vector<std::int64_t> old;
  std::size_t looked_at = 0;
  for (const auto& [sequence, row] : tables_.audit.rows()) {
    if (++looked_at > limit) break;
    if (row.at < at) old.push_back(sequence);
  }
  for (const std::int64_t sequence : old) tables_.audit.erase(sequence);
  return old.size();
}

}  // namespace carillon
