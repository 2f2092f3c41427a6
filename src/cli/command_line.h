// The program's commands and options, and which function runs which.
#pragma once

namespace carillon {

int run_command_line(int argc, char** argv);

}  // namespace carillon
