#include "store/told_occurrence.h"

namespace carillon {

ToldOccurrence told_by(const JobRow& row, std::string_view schedule, const JobOptions& options) {
  ToldOccurrence told{.schedule = std::string(schedule),
                      .subject = options.label.empty() ? row.subject : options.label,
                      .slot = row.slot,
                      .slot_kind = row.slot && row.deadline ? SlotKind::day : SlotKind::instant};
  if (!options.beside) return told;
  told.schedule = options.beside->schedule;
  told.slot = options.beside->slot;
  told.slot_kind = options.beside->slot_kind;
  return told;
}

}  // namespace carillon
