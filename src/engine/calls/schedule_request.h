// From a schedule as a program asks for it to its documented JSON.
#pragma once

#include <carillon/schedule.h>

#include <string>

#include "base/error.h"

namespace carillon {

Result<std::string> definition_of(const ScheduleRequest& request);

}  // namespace carillon
