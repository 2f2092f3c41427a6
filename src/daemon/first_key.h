// The first admin key of a database.
#pragma once

#include "base/error.h"
#include "daemon/config.h"
#include "engine/host/engine_host.h"
#include "server/auth/key_ring.h"

namespace carillon::daemon {

// The operator's own, or one that is made at the first start and written to its file: then true. Errors: as
// check_key_path, and those of the store.
Result<bool> make_first_key(EngineHost& host, server::KeyRing& keys, const ServerConfig& config);

}  // namespace carillon::daemon
