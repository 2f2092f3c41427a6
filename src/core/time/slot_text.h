// How the slot of an occurrence reads: the day of a delivery, else an instant.
#pragma once

#include <optional>
#include <string>

#include "carillon/job.h"
#include "core/schedules/schedule.h"
#include "core/time/instant.h"

namespace carillon {

std::string slot_text(Instant slot, SlotKind kind);
std::string slot_text(Instant slot, const Schedule& schedule);
// "" for none.
std::string slot_text(const std::optional<Instant>& slot, SlotKind kind);

}  // namespace carillon
