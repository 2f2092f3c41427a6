// Files that somebody else on the machine must not be able to choose for us: no link is followed, nothing that exists
// is written over, and no folder is trusted in which everybody may rename what is ours.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace carillon {

// Whether everybody may write to the folder of `path`, without the sticky bit. Errors: invalid_configuration.
Result<void> check_folder_of(const std::filesystem::path& path);

// The file is there whole, for its owner alone, or not at all. Errors: conflict (there is a file, or a link),
// unavailable.
Result<void> write_new_file(const std::filesystem::path& path, std::string_view text);

// Its content, of a plain file of at most `bytes_max`. Errors: not_found, unavailable.
Result<std::string> read_plain_file(const std::filesystem::path& path, std::size_t bytes_max);

// For lines that are added at its end; made if it is not there. The descriptor is the caller's. Errors:
// invalid_configuration, unavailable.
Result<int> open_to_append(const std::filesystem::path& path, unsigned mode);

}  // namespace carillon
