#include "store/sqlite/sqlite_rows.h"

namespace carillon {

JobRow read_job_row(const Query& query) {
  JobRow row;
  row.id = {query.integer(0)};
  row.state = static_cast<JobState>(query.integer(1));
  row.lane = {query.integer(2)};
  row.type = {query.integer(3)};
  row.priority = static_cast<int>(query.integer(4));
  row.run_at = query.instant(5);
  row.attempts = static_cast<std::uint32_t>(query.integer(6));
  row.token = query.integer(7);
  row.deadline = query.optional_instant(8);
  row.later = query.integer(9) != 0;
  row.schedule = {query.integer(10)};
  row.subject = query.text(11);
  row.slot = query.optional_instant(12);
  row.options = query.text(13);
  row.detail = query.text(14);
  return row;
}

ArchiveRow read_archive_row(const Query& query) {
  ArchiveRow row{.job = read_job_row(query), .finished_at = query.instant(15)};
  row.started_at = query.optional_instant(16);
  if (!query.is_null(17)) row.result = static_cast<AttemptResult>(query.integer(17));
  row.worker = query.text(18);
  return row;
}

LeaseRow read_lease_row(const Query& query, int first_column) {
  const auto column = [&](int index) { return first_column + index; };
  return {.job = {query.integer(column(0))},
          .token = query.integer(column(1)),
          .attempt = static_cast<std::uint32_t>(query.integer(column(2))),
          .worker = query.string(column(3)),
          .in_process = query.integer(column(4)) != 0,
          .claimed_at = query.instant(column(5)),
          .length = Duration(query.integer(column(6))),
          .until = BootTime(query.integer(column(7))),
          .timeout_at = BootTime(query.integer(column(8)))};
}

AttemptRow read_attempt_row(const Query& query) {
  return {.job = {query.integer(0)},
          .token = query.integer(1),
          .number = static_cast<std::uint32_t>(query.integer(2)),
          .result = static_cast<AttemptResult>(query.integer(3)),
          .worker = query.string(4),
          .started_at = query.instant(5),
          .finished_at = query.instant(6),
          .error_class = query.string(7),
          .error = query.string(8)};
}

ScheduleRow read_schedule_row(const Query& query) {
  return {.id = {query.integer(0)},
          .tenant = query.string(1),
          .name = query.string(2),
          .revision = query.integer(3),
          .generation = query.integer(4),
          .definition = query.string(5),
          .enabled = query.integer(6) != 0,
          .paused_until = query.optional_instant(7),
          .deleted_at = query.optional_instant(8),
          .created_at = query.instant(9),
          .updated_at = query.instant(10)};
}

SubjectRow read_subject_row(const Query& query) {
  return {.schedule = {query.integer(0)},
          .subject = query.string(1),
          .generation = query.integer(2),
          .version = query.integer(3),
          .next_at = query.optional_instant(4),
          .position = query.optional_instant(5),
          .open_job = {query.integer(6)},
          .cursor = query.optional_instant(7),
          .overrides = query.string(8),
          .state = query.string(9),
          .deleted = query.integer(10) != 0};
}

OutcomeRow read_outcome_row(const Query& query) {
  OutcomeRow row{.schedule = {query.integer(0)},
                 .subject = query.string(1),
                 .slot = query.instant(2),
                 .until = query.optional_instant(3),
                 .range = query.integer(4) != 0,
                 .job = {query.integer(5)},
                 .parked = query.integer(7) != 0,
                 .reason = query.string(8),
                 .at = query.optional_instant(9)};
  if (!query.is_null(6)) row.outcome = static_cast<JobState>(query.integer(6));
  return row;
}

}  // namespace carillon
