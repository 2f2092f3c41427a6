// Counts what the program allocates. Linking this in replaces the global operator new.
#pragma once

#include <cstdint>

namespace carillon::bench {

// Since the program began, by any thread.
std::uint64_t allocations();

}  // namespace carillon::bench
