// The transaction's half about schedules, their subjects and outcomes.
#include "store/local_minute.h"
#include "store/sqlite/sqlite_rows.h"
#include "store/sqlite/transaction_queries.h"
#include "store/store_reader.h"

namespace carillon {

// ---- Schedules --------------------------------------------------------------------------------------------------

// What this transaction has added to them is not written yet.
ScheduleRow SqliteTransaction::with_results(ScheduleRow row) const {
  if (row.deleted_at) return row;
  if (const auto change = sums_.results.find({row.id, row.generation}); change != sums_.results.end()) {
    change->second.apply_to(row.results);
  }
  return row;
}

std::optional<ScheduleRow> SqliteTransaction::schedule(std::string_view tenant, std::string_view name) {
  queries_->schedule_by_name.with(tenant, name);
  return one(queries_->schedule_by_name, [&](const Query& query) { return with_results(read_schedule_row(query)); });
}

std::optional<ScheduleRow> SqliteTransaction::schedule(ScheduleId id) {
  queries_->schedule_by_id.with(id);
  return one(queries_->schedule_by_id, [&](const Query& query) { return with_results(read_schedule_row(query)); });
}

ScheduleId SqliteTransaction::insert_schedule(const ScheduleRow& row) {
  queries_->insert_schedule.run(row.tenant, row.name, row.revision, row.generation, row.definition, row.enabled,
                                row.paused_until, row.deleted_at, row.created_at, row.updated_at);
  return {connection_.last_insert_id()};
}

void SqliteTransaction::update_schedule(const ScheduleRow& row) {
  queries_->update_schedule.run(row.id, row.revision, row.generation, row.definition, row.enabled, row.paused_until,
                                row.deleted_at, row.created_at, row.updated_at, row.subjects, row.first_job);
}

void SqliteTransaction::add_result(const EndedOccurrence& ended) {
  sums_.results[{ended.schedule, ended.generation}].add(ended);
}

std::vector<ScheduleHead> SqliteTransaction::schedule_heads(ScheduleId after, std::size_t limit) {
  queries_->schedule_heads.with(after, limit);
  return all(queries_->schedule_heads, [](const Query& query) {
    return ScheduleHead{.schedule = {query.integer(0)},
                        .enabled = query.integer(1) != 0,
                        .paused_until = query.optional_instant(2),
                        .next_at = query.optional_instant(3)};
  });
}

std::vector<ScheduleRow> SqliteTransaction::followers_above(ScheduleId after, std::size_t limit) {
  queries_->followers_above.with(after, limit);
  return all(queries_->followers_above, read_schedule_row);
}

std::vector<ScheduleRow> SqliteTransaction::schedules_above(ScheduleId after, std::size_t limit) {
  queries_->schedules_above.with(after, limit);
  return all(queries_->schedules_above, [&](const Query& query) { return with_results(read_schedule_row(query)); });
}

void SqliteTransaction::erase_schedule(ScheduleId id) { queries_->delete_schedule.run(id); }

bool SqliteTransaction::has_rows_of(ScheduleId id) {
  queries_->has_rows_of.with(id);
  return one(queries_->has_rows_of, [](const Query& query) { return query.integer(0) != 0; }).value_or(true);
}

namespace {

// Of `subject` and `subjects_due`, behind the columns of the row.
constexpr int kSubjectIdColumn = 15;
constexpr int kMinuteShift = 36;

// Where the subjects begin that were first due at the same minute of the day.
std::int64_t minute_base(std::optional<Instant> next_at) {
  const std::int64_t minute = next_at ? day_minute_of(utc_minute_of(*next_at)).minute : 0;
  return minute << kMinuteShift;
}

}  // namespace

std::optional<std::int64_t> SqliteTransaction::subject_id(ScheduleId schedule, std::string_view subject) {
  if (const auto known = known_subjects_.id(schedule, subject)) return known;
  queries_->subject_id.with(schedule, subject);
  const auto id = one(queries_->subject_id, [](const Query& query) { return query.integer(0); });
  if (id) known_subjects_.note_id(schedule, subject, *id);
  return id;
}

std::optional<SubjectRow> SqliteTransaction::subject(ScheduleId schedule, std::string_view subject) {
  if (failed()) return std::nullopt;
  if (const SubjectRow* const known = known_subjects_.row(schedule, subject)) return *known;
  queries_->subject.with(schedule, subject);
  return one(queries_->subject, [&](const Query& query) { return read_known(query); });
}

SubjectRow SqliteTransaction::read_known(const Query& query) {
  SubjectRow row = read_subject_row(query);
  known_subjects_.note(query.integer(kSubjectIdColumn), row);
  return row;
}

bool SqliteTransaction::is_enabled(ScheduleId schedule, std::string_view subject) {
  queries_->is_enabled.with(schedule, subject);
  return one(queries_->is_enabled, [](const Query& query) { return query.integer(0) != 0; }).value_or(true);
}

bool SqliteTransaction::insert_subject(const SubjectRow& row) {
  queries_->insert_subject.run(row.schedule, row.subject, row.generation, row.version, row.position,
                               OrNull{row.open_job}, row.cursor, OrNull{row.overrides}, OrNull{row.state},
                               row.deleted_at, row.enabled, row.status, row.last_slot, row.last_run_at, row.next_at,
                               minute_base(row.next_at));
  return !failed() && connection_.changes() == 1;
}

namespace {

// Whether `after` differs from `before` only in what planning an occurrence changes.
bool is_planned_on(const SubjectRow& before, const SubjectRow& after) {
  return before.generation == after.generation && before.cursor == after.cursor && before.enabled == after.enabled &&
         before.status == after.status && before.last_slot == after.last_slot &&
         before.last_run_at == after.last_run_at && before.deleted_at == after.deleted_at &&
         before.overrides == after.overrides && before.state == after.state;
}

}  // namespace

void SqliteTransaction::update_subject(std::optional<Instant> next_at_before, const SubjectRow& row) {
  const auto id = subject_id(row.schedule, row.subject);
  if (!id) return;
  const SubjectRow* const before = known_subjects_.row(row.schedule, row.subject);
  if (next_at_before == row.next_at) {
    queries_->update_subject.run(*id, row.generation, row.version, row.position, OrNull{row.open_job}, row.cursor,
                                 OrNull{row.overrides}, OrNull{row.state}, row.deleted_at, row.enabled, row.status,
                                 row.last_slot, row.last_run_at);
  } else if (before && is_planned_on(*before, row)) {
    queries_->plan_subject_on.run(*id, row.version, row.position, OrNull{row.open_job}, row.next_at);
  } else {
    queries_->move_subject.run(*id, row.generation, row.version, row.position, OrNull{row.open_job}, row.cursor,
                               OrNull{row.overrides}, OrNull{row.state}, row.deleted_at, row.enabled, row.status,
                               row.last_slot, row.last_run_at, row.next_at);
  }
  known_subjects_.note(*id, row);
}

void SqliteTransaction::add_subjects(ScheduleId schedule, std::int64_t change) {
  queries_->add_subjects.run(schedule, change);
}

std::optional<Instant> SqliteTransaction::next_subject_at(ScheduleId schedule) {
  queries_->next_subject_at.with(schedule);
  return one(queries_->next_subject_at, [](const Query& query) { return query.instant(0); });
}

std::vector<SubjectRow> SqliteTransaction::subjects_above(const SubjectKey& after, std::size_t limit) {
  queries_->subjects_above.with(after.schedule, after.subject, limit);
  return all(queries_->subjects_above, read_subject_row);
}

void SqliteTransaction::erase_subject(const SubjectKey& key) {
  const auto id = subject_id(key.schedule, key.subject);
  if (!id) return;
  queries_->delete_subject.run(*id);
  known_subjects_.forget(key.schedule, key.subject);
}

std::vector<SubjectRow> SqliteTransaction::subjects_due(ScheduleId schedule, Instant until, std::size_t limit) {
  queries_->subjects_due.with(schedule, until, limit);
  return all(queries_->subjects_due, [&](const Query& query) { return read_known(query); });
}

std::optional<OutcomeRow> SqliteTransaction::outcome(ScheduleId schedule, std::string_view subject, Instant slot) {
  const auto id = subject_id(schedule, subject);
  if (!id) return std::nullopt;
  queries_->outcome.with(schedule, *id, slot, subject);
  return one(queries_->outcome, read_outcome_row);
}

std::optional<OutcomeRow> SqliteTransaction::outcome_until(ScheduleId schedule, std::string_view subject,
                                                           Instant slot) {
  const auto id = subject_id(schedule, subject);
  if (!id) return std::nullopt;
  queries_->outcome_until.with(schedule, *id, slot, subject);
  return one(queries_->outcome_until, read_outcome_row);
}

namespace {

// None if it says nothing more than the slot.
std::optional<std::int64_t> kept_minute(const OutcomeRow& row) {
  return row.local_minute == utc_minute_of(row.slot) ? std::nullopt : std::optional(row.local_minute);
}

}  // namespace

bool SqliteTransaction::insert_outcome(const OutcomeRow& row) {
  auto id = subject_id(row.schedule, row.subject);
  if (!id) {
    queries_->insert_name.run(row.schedule, row.subject, minute_base(row.slot));
    id = connection_.last_insert_id();
  }
  queries_->insert_outcome.run(row.schedule, *id, row.slot, row.until, row.count, OrNull{row.job}, row.outcome,
                               row.parked, OrNull{row.reason}, row.at, kept_minute(row));
  return connection_.changes() == 1;
}

void SqliteTransaction::update_outcome(const OutcomeRow& row) {
  const auto id = subject_id(row.schedule, row.subject);
  if (!id) return;
  queries_->update_outcome.run(row.schedule, *id, row.slot, row.until, row.count, OrNull{row.job}, row.outcome,
                               row.parked, OrNull{row.reason}, row.at, kept_minute(row));
}

std::size_t SqliteTransaction::open_outcomes(ScheduleId schedule, std::string_view subject, Instant from,
                                             std::size_t most) {
  const auto id = subject_id(schedule, subject);
  if (!id) return 0;
  queries_->open_outcomes.with(schedule, *id, from, most);
  const auto count = one(queries_->open_outcomes, [](const Query& query) { return query.integer(0); });
  return static_cast<std::size_t>(count.value_or(0));
}

void SqliteTransaction::erase_outcome(ScheduleId schedule, std::string_view subject, Instant slot) {
  const auto id = subject_id(schedule, subject);
  if (!id) return;
  queries_->delete_outcome.run(schedule, *id, slot);
  queries_->delete_name.run(schedule, *id);
  if (connection_.changes() == 1) known_subjects_.forget(schedule, subject);
}

std::vector<OutcomeRow> SqliteTransaction::outcomes_above(const OutcomeKey& after, std::size_t limit) {
  // From the first one of a schedule on: its subjects stand in the order of their numbers.
  const bool from_first = after.subject.empty() && after.slot == kInstantMin;
  const std::int64_t id = from_first ? 0 : subject_id(after.schedule, after.subject).value_or(0);
  queries_->outcomes_above.with(after.schedule, id, after.slot, limit);
  return all(queries_->outcomes_above, read_outcome_row);
}

std::int64_t SqliteTransaction::open_on_days(ScheduleId schedule, const DayRange& days) {
  queries_->open_on_days.with(schedule, days.first, days.last);
  std::int64_t open = one(queries_->open_on_days, [](const Query& query) { return query.integer(0); }).value_or(0);
  for (auto sum = sums_.outcomes.lower_bound({schedule, days.first * kMinutesOfDay, JobState{}});
       sum != sums_.outcomes.end(); ++sum) {
    const auto& [of, local_minute, outcome] = sum->first;
    if (of != schedule || day_minute_of(local_minute).day > days.last) break;
    if (outcome == kOpenOutcome || outcome == JobState::dlq) open += sum->second;
  }
  return open;
}

void SqliteTransaction::erase_outcome_counts(ScheduleId schedule, std::int64_t day) {
  queries_->delete_outcome_counts.run(schedule, day);
}

void SqliteTransaction::add_outcome_count(ScheduleId schedule, std::int64_t local_minute, JobState outcome,
                                          std::int64_t change) {
  sums_.outcomes[{schedule, local_minute, outcome}] += change;
}

}  // namespace carillon
