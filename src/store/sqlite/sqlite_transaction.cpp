#include "store/sqlite/sqlite_transaction.h"

#include <sqlite3.h>

#include "base/check.h"
#include "store/cases/last_attempt.h"
#include "store/local_minute.h"
#include "store/sqlite/sqlite_rows.h"
#include "store/sqlite/transaction_queries.h"

namespace carillon {

namespace {

// A longer payload stands in a table of its own: a job's row is written again with each change.
constexpr std::size_t kInlinePayloadBytesMax = 1024;

}  // namespace

void SqliteTransaction::QueriesDeleter::operator()(Queries* queries) const { delete queries; }

namespace {

// What stands in the columns `options IS NOT NULL` and `attempts` of a job.
bool is_last_attempt_of(const Query& query, int options, int attempts) {
  return query.integer(options) == 0 && is_last_plain_attempt(static_cast<std::uint32_t>(query.integer(attempts)));
}

JobId read_id(const Query& query) { return {query.integer(0)}; }
LeaseRow read_lease(const Query& query) { return read_lease_row(query); }

}  // namespace

SqliteTransaction::SqliteTransaction(Connection& connection)
    : connection_(connection), names_(connection), queries_(new Queries(connection)) {
  // The lane of a row that is moved unread is needed for the counts. (RETURNING would tell it too, at twice the cost.)
  const auto note_lane = [](sqlite3_context* context, int /*count*/, sqlite3_value** values) {
    *static_cast<std::int64_t*>(sqlite3_user_data(context)) = sqlite3_value_int64(values[0]);
    sqlite3_result_value(context, values[0]);
  };
  const int code = sqlite3_create_function_v2(connection.handle(), "note_lane", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                              &noted_lane_, note_lane, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) connection.fail_with(code, "note_lane");
}

void SqliteTransaction::load() {
  names_.load();
  look_for_dependencies();
}

void SqliteTransaction::look_for_dependencies() {
  queries_->any_dependency.with();
  // It answers with one row. None: it failed, and what is known stays.
  if (const auto found = one(queries_->any_dependency, read_id)) has_dependencies_ = found->value != 0;
}

void SqliteTransaction::cut_leases(BootTime now) { queries_->cut_leases.run(now); }

JobId SqliteTransaction::highest_id() {
  queries_->highest_id.with();
  return one(queries_->highest_id, read_id).value_or(JobId{});
}

// ---- The transaction --------------------------------------------------------------------------------------------

void SqliteTransaction::begin() {
  connection_.clear_failure();
  names_at_begin_ = names_.mark();
  sums_ = {};
  known_subjects_.clear();
  connection_.execute_kept("BEGIN IMMEDIATE");
  if (has_dependencies_) look_for_dependencies();
  had_dependencies_ = has_dependencies_;
}

Result<void> SqliteTransaction::commit() {
  write_sums();
  connection_.execute_kept("COMMIT");
  if (!connection_.failed()) return {};
  Error error = *connection_.failure();
  roll_back();
  return std::unexpected(std::move(error));
}

void SqliteTransaction::roll_back() {
  connection_.clear_failure();
  // A failed write may have ended the transaction already.
  if (connection_.in_transaction()) connection_.execute("ROLLBACK");
  connection_.clear_failure();
  names_.unwrite_since(names_at_begin_);
  sums_ = {};
  has_dependencies_ = had_dependencies_;
}

void SqliteTransaction::savepoint() {
  names_at_savepoint_ = names_.mark();
  sums_at_savepoint_ = sums_;
  connection_.execute_kept("SAVEPOINT step");
}

void SqliteTransaction::roll_back_to_savepoint() {
  names_.unwrite_since(names_at_savepoint_);
  sums_ = sums_at_savepoint_;
  known_subjects_.clear();
  connection_.execute_kept("ROLLBACK TO step");
}

void SqliteTransaction::release_savepoint() { connection_.execute_kept("RELEASE step"); }

void SqliteTransaction::write_sums() {
  for (const auto& [key, change] : sums_.jobs) {
    if (change != 0) queries_->add_count.run(key.first, key.second, change);
  }
  for (const auto& [key, change] : sums_.outcomes) {
    const auto& [schedule, local_minute, outcome] = key;
    const DayMinute at = day_minute_of(local_minute);
    if (change != 0) queries_->add_outcome_count.run(schedule, at.day, at.minute, outcome, change);
  }
  for (const auto& [key, change] : sums_.results) {
    queries_->add_results.run(key.first, key.second, change.last_outcome(), change.clears(), change.errors(),
                              OrNull{change.last_error()});
  }
}

// ---- Live jobs --------------------------------------------------------------------------------------------------

std::optional<JobRow> SqliteTransaction::job(JobId id) {
  queries_->job.with(id);
  return one(queries_->job, read_job_row);
}

std::string SqliteTransaction::payload(JobId id) {
  const auto found = job_with_payload(id);
  return found ? found->payload : std::string();
}

std::optional<Transaction::JobWithPayload> SqliteTransaction::job_with_payload(JobId id) {
  queries_->job_with_payload.with(id);
  auto found = one(queries_->job_with_payload, [](const Query& query) {
    return JobWithPayload{.row = read_job_row(query), .payload = query.string(kJobColumns)};
  });
  if (found && found->payload.empty()) found->payload = long_payload(id);
  return found;
}

std::string SqliteTransaction::long_payload(JobId id) {
  queries_->long_payload.with(id);
  return one(queries_->long_payload, [](const Query& query) { return query.string(0); }).value_or(std::string());
}

void SqliteTransaction::insert_job(const JobRow& row, std::string_view payload) {
  const bool is_long = payload.size() > kInlinePayloadBytesMax;
  const std::string_view in_row = is_long ? std::string_view() : payload;
  queries_->insert_job.run(row.id, row.state, row.lane, row.type, row.priority, row.run_at, row.attempts, row.token,
                           row.deadline, row.later, OrNull{row.schedule}, OrNull{row.subject}, row.slot,
                           OrNull{row.options.text()}, OrNull{row.detail.text()}, OrNull{in_row});
  if (is_long) queries_->insert_payload.run(row.id, payload);
  if (row.later) queries_->insert_later.run(row.run_at, row.id);
  if (row.deadline) queries_->insert_deadline.run(*row.deadline, row.id);
}

void SqliteTransaction::update_payload(JobId id, std::string_view payload) {
  const bool is_long = payload.size() > kInlinePayloadBytesMax;
  queries_->update_payload.run(id, OrNull{is_long ? std::string_view() : payload});
  queries_->delete_payload.run(id);
  if (is_long) queries_->insert_payload.run(id, payload);
}

void SqliteTransaction::update_job(const JobRow& before, const JobRow& after) {
  queries_->update_job.run(after.id, after.state, after.lane, after.type, after.priority, after.run_at, after.attempts,
                           after.token, after.deadline, after.later, OrNull{after.schedule}, OrNull{after.subject},
                           after.slot, OrNull{after.options.text()}, OrNull{after.detail.text()});
  if (before.later && (!after.later || before.run_at != after.run_at)) {
    queries_->delete_later.run(before.run_at, before.id);
  }
  if (after.later && (!before.later || before.run_at != after.run_at)) {
    queries_->insert_later.run(after.run_at, after.id);
  }
  CHECK(before.deadline == after.deadline);
}

std::vector<JobRow> SqliteTransaction::jobs_above(JobId after, std::size_t limit) {
  queries_->jobs_above.with(after, limit);
  return all(queries_->jobs_above, read_job_row);
}

LivePage SqliteTransaction::ready_above(JobId after, Instant until, std::size_t limit) {
  LivePage page{.next_after = after};
  std::size_t rows = 0;
  Query& query = queries_->ready_above;
  for (query.with(after, limit); query.next(); ++rows) {
    page.next_after = {query.integer(0)};
    const Instant run_at = query.instant(5);
    const bool stays_on_disk = query.integer(7) != 0 && run_at > until;
    if (read_state(query, 1) != JobState::queued || stays_on_disk) continue;
    if (lease(page.next_after)) continue;
    page.jobs.push_back({.id = page.next_after,
                         .lane = {query.integer(2)},
                         .type = {query.integer(3)},
                         .run_at = run_at,
                         .priority = static_cast<std::uint8_t>(query.integer(4)),
                         .has_options = query.integer(6) != 0,
                         .last_attempt = is_last_attempt_of(query, 6, 8)});
  }
  page.end = rows < limit;
  return page;
}

std::vector<ReadyJob> SqliteTransaction::far_off(Instant from, Instant until, std::size_t limit) {
  queries_->far_off.with(from, until, limit);
  return all(queries_->far_off, [](const Query& query) {
    return ReadyJob{.id = {query.integer(0)},
                    .lane = {query.integer(1)},
                    .type = {query.integer(2)},
                    .run_at = query.instant(4),
                    .priority = static_cast<std::uint8_t>(query.integer(3)),
                    .has_options = query.integer(5) != 0,
                    .last_attempt = is_last_attempt_of(query, 5, 6)};
  });
}

std::vector<JobId> SqliteTransaction::deadlines(Instant until, std::size_t limit) {
  queries_->deadlines.with(until, limit);
  return all(queries_->deadlines, read_id);
}

// ---- The archive ------------------------------------------------------------------------------------------------

void SqliteTransaction::archive(const JobRow& before, const ArchiveRow& row) {
  const JobRow& job = row.job;
  queries_->archive_job.run(job.id, job.state, job.attempts, job.token, row.finished_at, row.started_at, row.result,
                            OrNull{row.worker}, OrNull{job.detail.text()});
  queries_->delete_job.run(job.id);
  if (before.later) queries_->delete_later.run(before.run_at, before.id);
  if (before.deadline) queries_->delete_deadline.run(*before.deadline, before.id);
}

std::optional<LaneId> SqliteTransaction::archive_plain_success(const PlainSuccess& success) {
  if (has_dependencies_) return std::nullopt;
  queries_->archive_plain_success.run(success.job, success.token, success.started_at, success.finished_at);
  if (failed() || connection_.changes() != 1) return std::nullopt;
  queries_->delete_job.run(success.job);
  queries_->delete_lease.run(success.job);
  return LaneId{noted_lane_};
}

std::optional<ArchiveRow> SqliteTransaction::archived(JobId id) {
  queries_->archived.with(id);
  return one(queries_->archived, read_archive_row);
}

std::vector<ArchiveRow> SqliteTransaction::archived_above(JobId after, std::size_t limit) {
  queries_->archived_above.with(after, limit);
  return all(queries_->archived_above, read_archive_row);
}

void SqliteTransaction::update_archived_detail(JobId id, const StoredDetail& detail) {
  queries_->update_archived_detail.run(id, OrNull{detail.text()});
}

void SqliteTransaction::erase_archived(const ArchiveRow& row) {
  queries_->delete_archived.run(row.job.id);
  queries_->delete_payload.run(row.job.id);
  queries_->delete_attempts.run(row.job.id);
}

void SqliteTransaction::insert_attempt(const AttemptRow& row) {
  queries_->insert_attempt.run(row.job, row.token, row.number, row.result, row.worker, row.started_at, row.finished_at,
                               OrNull{row.error_class}, OrNull{row.error});
}

std::optional<AttemptRow> SqliteTransaction::attempt(JobId job, std::int64_t token) {
  queries_->attempt.with(job, token);
  return one(queries_->attempt, read_attempt_row);
}

// ---- Leases -----------------------------------------------------------------------------------------------------

std::optional<LeaseRow> SqliteTransaction::lease(JobId job) {
  queries_->lease.with(job);
  return one(queries_->lease, read_lease);
}

std::optional<Transaction::LeasedRow> SqliteTransaction::leased_job(JobId job) {
  queries_->leased_job.with(job);
  return one(queries_->leased_job, [](const Query& query) {
    return LeasedRow{.lease = read_lease_row(query, kJobColumns), .job = read_job_row(query)};
  });
}

bool SqliteTransaction::insert_lease(const LeaseRow& row) {
  queries_->insert_lease.run(row.job, row.token, row.attempt, row.worker, row.in_process, row.claimed_at, row.length,
                             row.until, row.timeout_at, row.ahead);
  return connection_.changes() == 1;
}

void SqliteTransaction::update_lease(const LeaseRow& row) {
  queries_->update_lease.run(row.job, row.until, row.timeout_at, row.ahead);
}

void SqliteTransaction::erase_lease(JobId job) { queries_->delete_lease.run(job); }

std::vector<LeaseRow> SqliteTransaction::leases() {
  queries_->leases.with();
  return all(queries_->leases, read_lease);
}

std::vector<LeaseRow> SqliteTransaction::leases_out(BootTime now, std::size_t limit) {
  queries_->leases_out.with(now, limit);
  return all(queries_->leases_out, read_lease);
}

// ---- Keys, effects, dependencies --------------------------------------------------------------------------------

std::optional<KeyRow> SqliteTransaction::key(std::string_view tenant, TypeId type, std::string_view key) {
  queries_->key.with(tenant, type, key);
  return one(queries_->key, [&](const Query& query) {
    return KeyRow{.tenant = std::string(tenant),
                  .type = type,
                  .key = std::string(key),
                  .job = {query.integer(0)},
                  .payload_hash = query.integer(1),
                  .held_until = query.optional_instant(2)};
  });
}

void SqliteTransaction::put_key(const KeyRow& row) {
  queries_->put_key.run(row.tenant, row.type, row.key, row.job, row.payload_hash, row.held_until);
}

void SqliteTransaction::erase_key(const KeyRow& row) { queries_->delete_key.run(row.tenant, row.type, row.key); }

std::optional<EffectRow> SqliteTransaction::effect(std::string_view tenant, std::string_view key) {
  queries_->effect.with(tenant, key);
  return one(queries_->effect, [&](const Query& query) {
    return EffectRow{.tenant = std::string(tenant),
                     .key = std::string(key),
                     .job = {query.integer(0)},
                     .token = query.integer(1),
                     .state = query.integer(2) != 0 ? EffectState::done : EffectState::claimed,
                     .in_doubt = query.integer(5) != 0,
                     .result = query.string(3),
                     .at = query.instant(4)};
  });
}

void SqliteTransaction::put_effect(const EffectRow& row) {
  queries_->put_effect.run(row.tenant, row.key, row.job, row.token, row.state == EffectState::done, OrNull{row.result},
                           row.at, row.in_doubt);
}

void SqliteTransaction::erase_effect(std::string_view tenant, std::string_view key) {
  queries_->delete_effect.run(tenant, key);
}

std::size_t SqliteTransaction::erase_effects_before(Instant at, std::size_t limit) {
  queries_->old_effects.with(at, limit);
  const auto old =
      all(queries_->old_effects, [](const Query& query) { return std::pair(query.string(0), query.string(1)); });
  for (const auto& [tenant, key] : old) erase_effect(tenant, key);
  return old.size();
}

std::size_t SqliteTransaction::erase_keys_of(std::string_view tenant, std::size_t limit) {
  queries_->keys_of.with(tenant, limit);
  const auto keys =
      all(queries_->keys_of, [](const Query& query) { return std::pair(TypeId{query.integer(0)}, query.string(1)); });
  for (const auto& [type, key] : keys) queries_->delete_key.run(tenant, type, key);
  return keys.size();
}

std::size_t SqliteTransaction::erase_effects_of(std::string_view tenant, std::size_t limit) {
  queries_->effects_of.with(tenant, limit);
  const auto keys = all(queries_->effects_of, [](const Query& query) { return query.string(0); });
  for (const std::string& key : keys) erase_effect(tenant, key);
  return keys.size();
}

void SqliteTransaction::insert_dependency(JobId parent, JobId child) {
  has_dependencies_ = true;
  queries_->insert_dependency.run(parent, child);
}

void SqliteTransaction::erase_dependency(JobId parent, JobId child) { queries_->delete_dependency.run(parent, child); }

std::vector<JobId> SqliteTransaction::children(JobId parent) {
  if (!has_dependencies_) return {};
  queries_->children.with(parent);
  return all(queries_->children, read_id);
}

std::vector<JobId> SqliteTransaction::parents(JobId child) {
  if (!has_dependencies_) return {};
  queries_->parents.with(child);
  return all(queries_->parents, read_id);
}

bool SqliteTransaction::has_parents(JobId child) {
  if (!has_dependencies_) return false;
  queries_->parents.with(child);
  return one(queries_->parents, read_id).has_value();
}

void SqliteTransaction::erase_parents(JobId child) { queries_->delete_parents.run(child); }

void SqliteTransaction::add_count(LaneId lane, JobState state, std::int64_t change) {
  sums_.jobs[{lane, state}] += change;
}

std::int64_t SqliteTransaction::live_jobs_of(std::string_view tenant) {
  queries_->live_jobs_of.with(tenant);
  return one(queries_->live_jobs_of, [](const Query& query) { return query.integer(0); }).value_or(0);
}

// ---- Documents, audit -------------------------------------------------------------------------------------------

std::size_t SqliteTransaction::erase_audit_of(std::string_view tenant, std::size_t limit) {
  queries_->audit_of.with(tenant, limit);
  const auto rows = all(queries_->audit_of, [](const Query& query) { return query.integer(0); });
  for (const std::int64_t sequence : rows) queries_->delete_audit.run(sequence);
  return rows.size();
}

std::optional<Document> SqliteTransaction::document(const DocumentKey& key) {
  queries_->document.with(key.tenant, key.kind, key.name);
  return one(queries_->document, [&](const Query& query) {
    return Document{.key = key, .revision = query.integer(0), .body = query.string(1), .updated_at = query.instant(2)};
  });
}

std::vector<Document> SqliteTransaction::documents_above(const DocumentKey& after, std::size_t limit) {
  queries_->documents_above.with(after.tenant, after.kind, after.name, limit);
  return all(queries_->documents_above, [](const Query& query) {
    return Document{.key = {.tenant = query.string(0), .kind = query.string(1), .name = query.string(2)},
                    .revision = query.integer(3),
                    .body = query.string(4),
                    .updated_at = query.instant(5)};
  });
}

void SqliteTransaction::put_document(const Document& document) {
  queries_->put_document.run(document.key.tenant, document.key.kind, document.key.name, document.revision,
                             document.body, document.updated_at);
}

void SqliteTransaction::erase_document(const DocumentKey& key) {
  queries_->delete_document.run(key.tenant, key.kind, key.name);
}

void SqliteTransaction::append_audit(const AuditRow& row) {
  queries_->append_audit.run(row.at, row.tenant, row.actor, row.action, row.target, row.detail.json());
}

std::size_t SqliteTransaction::erase_audit_before(Instant at, std::size_t limit) {
  queries_->delete_audit_before.run(at, limit);
  return failed() ? 0 : static_cast<std::size_t>(connection_.changes());
}

}  // namespace carillon
