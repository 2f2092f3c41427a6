// The program's commands and options, and which function runs which.
#pragma once

namespace carillon {

// Exit codes, the same for every command.
enum class ExitCode : int { done = 0, failed = 1, usage = 2, not_found = 3, conflict = 4, unreachable = 5 };

int run_command_line(int argc, char** argv);

}  // namespace carillon
