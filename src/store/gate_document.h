// Where the history of gates stands: one document for each tenant, and one of no tenant for maintenance for all.
#pragma once

#include <string>
#include <string_view>

#include "core/policies/gate_history_text.h"
#include "store/rows.h"

namespace carillon {

inline DocumentKey gate_history_key(std::string_view tenant) {
  return {.tenant = std::string(tenant), .kind = std::string(kGateHistoryKind), .name = {}};
}

}  // namespace carillon
