// Compiled as if it stood in src/base. The first include is there to show that the second one is what fails.
#include "base/error.h"
#include "core/policies/retry.h"
