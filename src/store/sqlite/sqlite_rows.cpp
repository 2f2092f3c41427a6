#include "store/sqlite/sqlite_rows.h"

#include <iterator>

#include "core/jobs/job.h"
#include "store/local_minute.h"

namespace carillon {

namespace {

// What a damaged file may hold must not become a value that the rest of the program takes for impossible.
constexpr std::int64_t kCountMax = std::int64_t{1} << 31;
constexpr std::int64_t kBootMax = std::int64_t{1} << 61;

JobId read_job_id(const Query& query, int column) { return {query.integer_within(column, 1, INT64_MAX)}; }
std::int64_t read_token(const Query& query, int column) { return query.integer_within(column, 0, INT64_MAX - 1); }
std::uint32_t read_count(const Query& query, int column) {
  return static_cast<std::uint32_t>(query.integer_within(column, 0, kCountMax));
}
AttemptResult read_result(const Query& query, int column) {
  return static_cast<AttemptResult>(query.integer_within(column, 0, std::ssize(kAttemptResults) - 1));
}

}  // namespace

JobState read_state(const Query& query, int column) {
  return static_cast<JobState>(query.integer_within(column, 0, std::ssize(kJobStates) - 1));
}

JobRow read_job_row(const Query& query) {
  JobRow row;
  row.id = read_job_id(query, 0);
  row.state = read_state(query, 1);
  row.lane = {query.integer(2)};
  row.type = {query.integer(3)};
  row.priority = static_cast<int>(query.integer_within(4, kPriorityMin, kPriorityMax));
  row.run_at = query.instant(5);
  row.attempts = read_count(query, 6);
  row.token = read_token(query, 7);
  row.deadline = query.optional_instant(8);
  row.later = query.integer(9) != 0;
  row.schedule = {query.integer(10)};
  row.subject = query.text(11);
  row.slot = query.optional_instant(12);
  row.options = StoredOptions(query.string(13));
  row.detail = StoredDetail(query.string(14));
  return row;
}

ArchiveRow read_archive_row(const Query& query) {
  ArchiveRow row{.job = read_job_row(query), .finished_at = query.instant(15)};
  row.started_at = query.optional_instant(16);
  if (!query.is_null(17)) row.result = read_result(query, 17);
  row.worker = query.text(18);
  return row;
}

LeaseRow read_lease_row(const Query& query, int first_column) {
  const auto column = [&](int index) { return first_column + index; };
  return {.job = read_job_id(query, column(0)),
          .token = read_token(query, column(1)),
          .attempt = static_cast<std::uint32_t>(query.integer_within(column(2), 1, kCountMax)),
          .worker = query.string(column(3)),
          .in_process = query.integer(column(4)) != 0,
          .ahead = query.integer(column(9)) != 0,
          .claimed_at = query.instant(column(5)),
          .length = Duration(query.integer_within(column(6), 0, kBootMax)),
          .until = BootTime(query.integer_within(column(7), -kBootMax, kBootMax)),
          .timeout_at = BootTime(query.integer_within(column(8), -kBootMax, kBootMax))};
}

AttemptRow read_attempt_row(const Query& query) {
  return {.job = read_job_id(query, 0),
          .token = read_token(query, 1),
          .number = read_count(query, 2),
          .result = read_result(query, 3),
          .worker = query.string(4),
          .started_at = query.instant(5),
          .finished_at = query.instant(6),
          .error_class = query.string(7),
          .error = query.string(8)};
}

ScheduleRow read_schedule_row(const Query& query) {
  ScheduleRow row{.id = {query.integer(0)},
                  .tenant = query.string(1),
                  .name = query.string(2),
                  .revision = query.integer(3),
                  .generation = query.integer(4),
                  .definition = query.string(5),
                  .enabled = query.integer(6) != 0,
                  .paused_until = query.optional_instant(7),
                  .deleted_at = query.optional_instant(8),
                  .created_at = query.instant(9),
                  .updated_at = query.instant(10),
                  .subjects = query.integer(11),
                  .first_job = {query.integer(12)},
                  .results = {.error_count = query.integer(14), .last_error = query.string(15)}};
  if (!query.is_null(13)) row.results.last_outcome = read_state(query, 13);
  return row;
}

SubjectRow read_subject_row(const Query& query) {
  SubjectRow row{.schedule = {query.integer(0)},
                 .subject = query.string(1),
                 .generation = query.integer(2),
                 .version = query.integer(3),
                 .next_at = query.optional_instant(4),
                 .position = query.optional_instant(5),
                 .open_job = {query.integer(6)},
                 .cursor = query.optional_instant(7),
                 .enabled = query.integer(11) != 0,
                 .overrides = query.string(8),
                 .last_slot = query.optional_instant(13),
                 .last_run_at = query.optional_instant(14),
                 .state = query.string(9),
                 .deleted_at = query.optional_instant(10)};
  if (!query.is_null(12)) row.status = read_state(query, 12);
  return row;
}

OutcomeRow read_outcome_row(const Query& query) {
  OutcomeRow row{.schedule = {query.integer(0)},
                 .subject = query.string(1),
                 .slot = query.instant(2),
                 .until = query.optional_instant(3),
                 .count = query.integer_within(4, 1, INT64_MAX),
                 .job = {query.integer(5)},
                 .parked = query.integer(7) != 0,
                 .reason = query.string(8),
                 .at = query.optional_instant(9)};
  row.local_minute = query.is_null(10) ? utc_minute_of(row.slot) : query.integer(10);
  if (!query.is_null(6)) row.outcome = read_state(query, 6);
  return row;
}

}  // namespace carillon
