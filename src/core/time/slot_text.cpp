#include "core/time/slot_text.h"

#include "core/kinds/delivery.h"

namespace carillon {

std::string slot_text(Instant slot, SlotKind kind) {
  return kind == SlotKind::day ? format_date(day_of_slot(slot)) : format_instant(slot);
}

std::string slot_text(Instant slot, const Schedule& schedule) {
  return slot_text(slot, traits_of(schedule).has_cutoff ? SlotKind::day : SlotKind::instant);
}

std::string slot_text(const std::optional<Instant>& slot, SlotKind kind) {
  return slot ? slot_text(*slot, kind) : std::string();
}

}  // namespace carillon
