// The file that the first admin key of a database is written to.
//
// It is named after the database, so that two of them in one folder have two, and it is never written over: whatever
// stands there may be the only copy of a key.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace carillon::daemon {

// sqlite:data/other.db → data/other.key, and of a database that has this name itself other.key.key; a store that is no
// file → carillon.key.
std::filesystem::path key_path(std::string_view db);

// Whether the key of this id is in the store.
using KnowsKey = std::function<bool(std::string_view id)>;

// Why a new key cannot be written there. A file that exists belongs to this database if its key is known here, else to
// another one. Errors: conflict, invalid_configuration.
Result<void> check_key_path(const std::filesystem::path& path, std::string_view db, const KnowsKey& knows_key);

Result<void> write_key_file(const std::filesystem::path& path, std::string_view key);

}  // namespace carillon::daemon
