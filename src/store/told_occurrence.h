// What a job says that it belongs to: its own occurrence, or the one that it stands beside.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/jobs/job.h"
#include "store/rows.h"

namespace carillon {

struct ToldOccurrence {
  std::string schedule;
  std::string subject;
  std::optional<Instant> slot;
  SlotKind slot_kind = SlotKind::instant;
};
// `schedule` is the name of the row's.
ToldOccurrence told_by(const JobRow& row, std::string_view schedule, const JobOptions& options);

}  // namespace carillon
