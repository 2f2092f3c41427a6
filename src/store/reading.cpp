#include "store/reading.h"

#include "store/subject_state.h"

namespace carillon {

void append_ending_attempt(const ArchiveRow& row, JobView& view) {
  if (!row.result) return;
  AttemptRow attempt{.job = row.job.id,
                     .token = row.job.token,
                     // The attempts used; if the last one was given back, it is not among them.
                     .number = row.job.attempts + (gives_attempt_back(*row.result) ? 1 : 0),
                     .result = *row.result,
                     .worker = row.worker,
                     .started_at = row.started_at.value_or(row.finished_at),
                     .finished_at = row.finished_at};
  const auto detail = row.job.detail.read();
  const bool went_wrong = *row.result == AttemptResult::error || *row.result == AttemptResult::timeout ||
                          *row.result == AttemptResult::lease_lost;
  if (went_wrong && detail && detail->last_error) {
    attempt.error = detail->last_error->message;
    attempt.error_class = detail->last_error->error_class;
  }
  view.attempts.push_back(std::move(attempt));
}

bool matches(const SubjectFilter& filter, const SubjectRow& row) {
  if (!row.subject.starts_with(filter.prefix)) return false;
  if (filter.enabled && row.enabled != *filter.enabled) return false;
  if (filter.due_until && (!row.next_at || *row.next_at > *filter.due_until)) return false;
  return !filter.status || subject_status_text(row.status) == *filter.status;
}

SubjectMark mark_of(const SubjectFilter& filter, const SubjectRow& row) {
  return {.subject = row.subject, .next_at = filter.due_until ? row.next_at : std::nullopt};
}

bool is_gap(const OutcomeRow& row, std::optional<Instant> cursor) {
  if (!cursor || !row.until) return false;
  if (row.outcome) return *row.outcome != JobState::done && *row.outcome != JobState::skipped;
  // Parked, or taken out of the DLQ again after the cursor had passed.
  return row.parked || row.slot < *cursor;
}

}  // namespace carillon
