#include "core/slot_text.h"

#include "core/delivery.h"

namespace carillon {

namespace {

std::string day_text(Instant slot) { return format_date(day_of_slot(slot)); }

}  // namespace

std::string slot_text(Instant slot, const Schedule& schedule) {
  return std::holds_alternative<DeliveryTrigger>(schedule.trigger) ? day_text(slot) : format_instant(slot);
}

std::string slot_text(Instant slot, const std::optional<Instant>& deadline) {
  return deadline ? day_text(slot) : format_instant(slot);
}

}  // namespace carillon
