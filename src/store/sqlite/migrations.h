// The schema, step by step: numbered, embedded, never edited once landed.
#pragma once

#include "base/error.h"
#include "core/time/instant.h"
#include "store/sqlite/connection.h"

namespace carillon {

// Refuses a file of another program. Only reads.
Result<void> check_owner(Connection& connection);

// Brings the file up to this program's schema, one transaction a step. Refuses one that a newer Carillon wrote, and one
// whose steps were not these.
Result<void> migrate(Connection& connection, Instant now);

// The number of this program's last step.
int latest_migration();

}  // namespace carillon
