// Memory that was freed goes back to the system, soon after whatever took it is over.
//
// The allocator keeps what is freed in pieces, and no budget knows how much: parsed bodies, names and parked calls are
// not counted by their bytes on the wire. So what it keeps is measured, not guessed from what was taken in.
#pragma once

#include <chrono>
#include <cstddef>

namespace carillon::daemon {

// Before the first thread is started. Large blocks come from the system and go back to it one by one.
void give_large_blocks_back();

// Bytes that are resident although nobody uses them.
std::size_t kept_memory();

// Gives back what is kept, if that is worth it, and says when to look again: looking in vain takes a hundredth of the
// time at most.
std::chrono::milliseconds give_kept_memory_back();

}  // namespace carillon::daemon
