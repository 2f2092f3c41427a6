// Files that somebody else on the machine must not be able to choose for us: no link is followed, nothing that exists
// is written over, no folder is trusted in which everybody may rename what is ours, and no file that another user has
// put there or that everybody may write to.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace carillon {

// Whether everybody may write to the folder of `path`, without the sticky bit. Errors: invalid_configuration.
Result<void> check_folder_of(const std::filesystem::path& path);

// Whether another user chose what stands in the file, or may change it: it is neither ours nor root's, or everybody may
// write to it. A link is judged itself, not what it points to. A file that is not there is nobody's. Errors:
// invalid_configuration.
Result<void> check_owner_of(const std::filesystem::path& path);

// The file is there whole, for its owner alone, or not at all. Errors: conflict (there is a file, or a link),
// unavailable.
Result<void> write_new_file(const std::filesystem::path& path, std::string_view text);

// Its content, of a plain file of at most `bytes_max`. Errors: not_found, invalid_configuration (as check_owner_of),
// unavailable.
Result<std::string> read_plain_file(const std::filesystem::path& path, std::size_t bytes_max);

// For lines that are added at its end; made if it is not there. The descriptor is the caller's. Errors:
// invalid_configuration, unavailable.
Result<int> open_to_append(const std::filesystem::path& path, unsigned mode);

}  // namespace carillon
