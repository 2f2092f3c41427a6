// Jobs come in.
#pragma once

#include "store/cases/context.h"

namespace carillon {

// For whom an occurrence is planned, if that is known.
struct PlannedFor {
  // NOLINTBEGIN(cppcoreguidelines-avoid-const-or-ref-data-members): lives as long as one call
  const ScheduleRow& schedule;
  const SubjectRow& subject;
  // NOLINTEND(cppcoreguidelines-avoid-const-or-ref-data-members)
};

// Refused ones change nothing; what the key or occurrence has made already is answered as deduplicated.
Result<Enqueued> enqueue_job(Context& context, const NewJob& job);
Result<Enqueued> enqueue_planned_job(Context& context, const NewJob& job, const PlannedFor& planned);

Result<std::optional<Enqueued>> key_holder(Context& context, const JobStore::SaidKey& key);
// What is said to another payload under a held key.
std::unexpected<Error> key_conflict(std::string_view type, std::string_view key, JobId holder);
void add_key(Context& context, JobId job, std::string_view key, std::string_view said);

}  // namespace carillon
