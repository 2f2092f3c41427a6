// The last line of a process that ends by a bug: which check or which signal, in the format of the log.
#pragma once

#include <carillon/log.h>

namespace carillon {

// From now on a failed check, a fault or an abort leaves a line on `fd` before it takes its course. Once per process.
void tell_of_crashes(int fd, bool json);

}  // namespace carillon
