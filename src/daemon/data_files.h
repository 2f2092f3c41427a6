// The files that a server keeps its data in, looked at before anything is made or opened: nobody else on the machine
// may have chosen them or be able to change them.
#pragma once

#include <string_view>

#include "base/error.h"
#include "daemon/config.h"

namespace carillon::daemon {

// Whether the folders of the database, its key file and the event log are fit for them, and nothing that is there
// is another user's. Errors: invalid_configuration.
Result<void> check_data_files(const ServerConfig& config);

// Of the database alone, with the files that SQLite and the lock keep beside it. Errors: invalid_configuration.
Result<void> check_database_files(std::string_view db);

// A new database is for its owner alone: it holds payloads. What cannot be made here is reported when it is opened.
void make_database_private(std::string_view db);

}  // namespace carillon::daemon
