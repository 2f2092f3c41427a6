#include "sim/fortunes.h"

#include <charconv>
#include <string_view>

namespace carillon::sim {

namespace {

// {"last_error":"boom","error_count":3}
std::int64_t errors_of(const SubjectRow& row) {
  constexpr std::string_view kName = "\"error_count\":";
  const std::size_t at = row.state.find(kName);
  std::int64_t count = 0;
  if (at != std::string::npos) {
    std::from_chars(row.state.data() + at + kName.size(), row.state.data() + row.state.size(), count);
  }
  return count;
}

}  // namespace

void Fortunes::note(Fortune& fortune, JobState last, Turn turn) {
  fortune.last = last;
  if (turn == Turn::success) fortune.errors = 0;
  if (turn == Turn::misfortune) ++fortune.errors;
}

Fortunes::Turn Fortunes::turn_of(const OutcomeRow& before, const OutcomeRow& row) const {
  if (row.outcome == JobState::done) return Turn::success;
  if (before.parked && row.outcome) return Turn::neither;  // that was reported when it was parked
  const bool went_wrong = row.parked || row.outcome == JobState::cutoff_reached || with_error_.contains(row.job);
  return went_wrong ? Turn::misfortune : Turn::neither;
}

void Fortunes::put_schedule(const ScheduleRow& row) {
  Schedule& schedule = schedules_[row.id];
  if (row.deleted_at || row.generation != schedule.generation) schedule.fortune = {};
  schedule.generation = row.generation;
  schedule.is_deleted = row.deleted_at.has_value();
}

void Fortunes::erase_schedule(ScheduleId id) { schedules_.erase(id); }

void Fortunes::put_subject(const SubjectRow& row) {
  Subject& subject = subjects_[{row.schedule, row.subject}];
  const bool is_reborn =
      subject.row.deleted_at.has_value() != row.deleted_at.has_value() || subject.row.generation != row.generation;
  subject.row = row;
  if (is_reborn || !subject.is_touched) subject.fortune = {.last = row.status, .errors = errors_of(row)};
}

void Fortunes::erase_subject(const SubjectKey& key) { subjects_.erase(key); }

void Fortunes::put_outcome(const OutcomeRow& before, const OutcomeRow& row, bool is_delivery) {
  const bool ends = row.outcome && !before.outcome;
  const bool parks = row.parked && !before.parked;
  if (!ends && !parks) return;
  // What never became a job is no turn of fortune, but for a day whose cutoff nobody saw.
  if (!row.job && row.outcome != JobState::cutoff_reached) return;
  if (row.reason == "job_lost") return;  // a sweep found nothing that could show it
  const auto found = subjects_.find({row.schedule, row.subject});
  const auto owner = schedules_.find(row.schedule);
  if (found == subjects_.end() || owner == schedules_.end()) return;
  Subject& subject = found->second;
  // The last date of a delivery is the last one, in whatever order days end.
  if (is_delivery && row.job && subject.row.last_slot && row.slot < *subject.row.last_slot) return;
  const JobState last = row.outcome.value_or(JobState::dlq);
  const Turn turn = turn_of(before, row);
  subject.is_touched = true;
  touched_.insert(found->first);
  note(subject.fortune, last, turn);
  if (owner->second.is_deleted || subject.row.generation != owner->second.generation) return;
  if (!row.subject.empty()) note(owner->second.fortune, last, turn);
}

void Fortunes::end_of_transaction() {
  for (const SubjectKey& key : touched_) {
    const auto found = subjects_.find(key);
    if (found == subjects_.end()) continue;
    Subject& subject = found->second;
    subject.is_touched = false;
    const auto owner = schedules_.find(key.schedule);
    const bool lives = owner != schedules_.end() && !owner->second.is_deleted && !subject.row.deleted_at &&
                       subject.row.generation == owner->second.generation;
    if (!lives) continue;
    const Fortune& wanted = subject.fortune;
    findings_.expect(subject.row.status == wanted.last && errors_of(subject.row) == wanted.errors, 3,
                     "{} of schedule {} fares as {} after {} misfortunes, and shows {} after {}", key.subject,
                     key.schedule.value, wanted.last ? to_string(*wanted.last) : "nothing", wanted.errors,
                     subject.row.status ? to_string(*subject.row.status) : "nothing", errors_of(subject.row));
    if (wanted.errors > 0 && wanted.last == JobState::dlq) {
      findings_.expect(subject.row.state.find("\"last_error\"") != std::string::npos, 3,
                       "an occurrence of {} of schedule {} is parked, and it does not say why", key.subject,
                       key.schedule.value);
    }
  }
  touched_.clear();
  with_error_.clear();
}

void Fortunes::compare(const ScheduleRow& row) {
  const auto found = schedules_.find(row.id);
  if (found == schedules_.end() || row.deleted_at) return;
  const Fortune& wanted = found->second.fortune;
  findings_.expect(row.results.last_outcome == wanted.last && row.results.error_count == wanted.errors, 34,
                   "{} fares as {} after {} misfortunes, and shows {} after {}", row.name,
                   wanted.last ? to_string(*wanted.last) : "nothing", wanted.errors,
                   row.results.last_outcome ? to_string(*row.results.last_outcome) : "nothing",
                   row.results.error_count);
}

}  // namespace carillon::sim
