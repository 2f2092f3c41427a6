// The flags of `carillon serve`, which `carillon config check` takes as well.
#pragma once

#include "daemon/config.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's own name.
namespace CLI {
class App;
}

namespace carillon {

// `flags` must outlive `command`.
void add_serve_flags(CLI::App& command, daemon::ServeFlags& flags);

}  // namespace carillon
