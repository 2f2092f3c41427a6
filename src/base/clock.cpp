#include "base/clock.h"

#include <ctime>

#include "base/check.h"

namespace carillon {

std::chrono::sys_time<std::chrono::microseconds> system_now() {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

std::chrono::microseconds boot_now() {
  timespec time{};
  CHECK(clock_gettime(CLOCK_BOOTTIME, &time) == 0);
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::seconds(time.tv_sec) +
                                                               std::chrono::nanoseconds(time.tv_nsec));
}

}  // namespace carillon
