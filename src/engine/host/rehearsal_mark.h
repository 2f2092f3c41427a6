// The mark on a store that only rehearsals use.
#pragma once

#include "base/error.h"

namespace carillon {

class Store;

Result<bool> is_of_rehearsal(Store& store);
// Nobody has written into it.
Result<bool> is_unused(Store& store);
Result<void> mark_rehearsal(Store& store);

}  // namespace carillon
