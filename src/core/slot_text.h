// How the slot of an occurrence reads: the day of a delivery, else an instant.
#pragma once

#include <optional>
#include <string>

#include "core/instant.h"
#include "core/schedule.h"

namespace carillon {

std::string slot_text(Instant slot, const Schedule& schedule);
// Of a job that knows no more than its own deadline: of all jobs with a slot, only deliveries have one.
std::string slot_text(Instant slot, const std::optional<Instant>& deadline);

}  // namespace carillon
