// What is left of a tenant, erased.
#pragma once

#include <string_view>

#include "store/admin_store.h"
#include "store/cases/context.h"

namespace carillon {

EraseStep erase_tenant_rows(Context& context, std::string_view tenant, const ErasePosition& from, std::size_t limit);

}  // namespace carillon
