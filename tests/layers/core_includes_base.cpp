// Compiled as if it stood in src/core: downward and sideways includes are fine.
#include "base/error.h"
#include "core/policies/retry.h"
