// Opens a store by its URL, on any clock.
#pragma once

#include <memory>
#include <string_view>

#include "base/error.h"
#include "store/store.h"

namespace carillon {

Result<std::unique_ptr<Store>> open_store_with(std::string_view url, const StoreClock& clock);

}  // namespace carillon
