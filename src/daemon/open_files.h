// How many files this process may have open: a connection is one, and so is much of what answers it.
#pragma once

#include <cstdint>

namespace carillon::daemon {

// As many as the system lets this process have. Returns how many these are.
std::uint64_t raise_open_files();

// Connections that leave enough for the store, programs, webhooks and those who are refused, if `files` may be open.
std::uint32_t connections_within(std::uint64_t files, std::uint32_t wanted);

}  // namespace carillon::daemon
