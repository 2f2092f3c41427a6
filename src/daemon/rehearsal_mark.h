// Keeps rehearsals and real work apart: the database of a rehearsal is marked as one.
#pragma once

#include <string_view>

#include "engine/host/open_store.h"

namespace carillon::daemon {

enum class Rehearses : std::uint8_t { no, yes };

// Marks an empty database for a rehearsal. Errors: conflict if a rehearsal is to use any other database, or real work
// one of a rehearsal.
Result<void> check_rehearsal(Store& store, std::string_view db, Rehearses rehearses);

}  // namespace carillon::daemon
