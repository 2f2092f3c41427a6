#include "base/clock.h"

namespace carillon {

std::chrono::sys_time<std::chrono::microseconds> system_now() {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

}  // namespace carillon
