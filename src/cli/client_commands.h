// The commands that talk to a server, as the parser of the command line sees them.
#pragma once

#include "cli/outcome.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's own name.
namespace CLI {
class App;
}

namespace carillon {

// Adds them to `app`. The chosen command leaves its exit code in `exit_code`, which must outlive `app`.
void add_client_commands(CLI::App& app, ExitCode& exit_code);

}  // namespace carillon
