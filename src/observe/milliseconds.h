// Durations as people and graphs read them.
#pragma once

#include <chrono>

#include "carillon/time.h"

namespace carillon {

inline double milliseconds(Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

}  // namespace carillon
