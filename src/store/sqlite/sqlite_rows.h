// Rows as the queries give them. The order of the columns is that of the .sql files.
#pragma once

#include "store/rows.h"
#include "store/sqlite/connection.h"

namespace carillon {

inline constexpr int kJobColumns = 15;      // id … detail
inline constexpr int kArchiveColumns = 19;  // the same, then finished_at … worker

JobState read_state(const Query& query, int column);
JobRow read_job_row(const Query& query);
ArchiveRow read_archive_row(const Query& query);
LeaseRow read_lease_row(const Query& query, int first_column = 0);
AttemptRow read_attempt_row(const Query& query);
ScheduleRow read_schedule_row(const Query& query);
SubjectRow read_subject_row(const Query& query);
OutcomeRow read_outcome_row(const Query& query);

}  // namespace carillon
