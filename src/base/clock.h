// The only reader of the system's clocks. Everything above `base` is given the time.
#pragma once

#include <chrono>

namespace carillon {

// The wall clock of this machine, in UTC.
std::chrono::sys_time<std::chrono::microseconds> system_now();

// Time since the machine was started: it does not jump when the wall clock is set, and counts while the machine sleeps.
std::chrono::microseconds boot_now();

}  // namespace carillon
