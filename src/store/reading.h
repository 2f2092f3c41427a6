// What readers of every backend show alike.
#pragma once

#include "store/store_reader.h"

namespace carillon {

// The attempt that ended the job stands in its archived row: adds it to the others.
void append_ending_attempt(const ArchiveRow& row, JobView& view);

// A window that closed otherwise than done or skipped, and no later success of its job closed it. (invariant 20)
bool is_gap(const OutcomeRow& row, std::optional<Instant> cursor);

// Whether a subject is of those that were asked for; its schedule was looked at before.
bool matches(const SubjectFilter& filter, const SubjectRow& row);
// Where a list goes on that ended with this subject.
SubjectMark mark_of(const SubjectFilter& filter, const SubjectRow& row);

}  // namespace carillon
