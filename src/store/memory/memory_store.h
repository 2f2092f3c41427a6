// The reference model: maps in memory, nothing clever. What it answers is what every store must answer.
#pragma once

#include <memory>

#include "store/backend.h"
#include "store/store.h"

namespace carillon {

// Nothing outlives it. The clock must.
std::unique_ptr<Store> make_memory_store(const StoreClock& clock);
std::unique_ptr<Backend> make_memory_backend(const StoreClock& clock);

}  // namespace carillon
