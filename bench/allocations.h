// Counts what the program allocates. Linking this in replaces the global operator new.
#pragma once

#include <cstdint>

namespace carillon {

// By this thread, since it began.
std::uint64_t allocations();

}  // namespace carillon
