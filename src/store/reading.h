// What readers of every backend say and show alike.
#pragma once

#include <string_view>

#include "base/error.h"
#include "store/store_reader.h"

namespace carillon {

std::unexpected<Error> absent(std::string_view what, std::string_view name);
std::unexpected<Error> absent_job(JobId id);

// Why a word under a token is refused: how the job stands, and what ended the attempt.
struct StaleWhy {
  std::string text;  // the end of a sentence
  JobState state = JobState::queued;
  std::string reason;
  std::optional<Instant> when;
};
std::unexpected<Error> stale_word(JobId job, std::int64_t token, const StaleWhy& why);
// The same of a job that is absent, or somebody else's: they cannot be told apart (invariant 28).
std::unexpected<Error> stale_word(JobId job, std::int64_t token);

// The attempt that ended the job stands in its archived row: adds it to the others.
void append_ending_attempt(const ArchiveRow& row, JobView& view);

// A window that closed otherwise than done or skipped, and no later success of its job closed it. (invariant 20)
bool is_gap(const OutcomeRow& row, std::optional<Instant> cursor);

// Whether a subject is of those that were asked for; its schedule was looked at before.
bool matches(const SubjectFilter& filter, const SubjectRow& row);
// Where a list goes on that ended with this subject.
SubjectMark mark_of(const SubjectFilter& filter, const SubjectRow& row);

}  // namespace carillon
