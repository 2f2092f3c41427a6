// Who acts, and what the audit trail says of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/settings/audit_detail.h"
#include "store/rows.h"

namespace carillon {

class Node;

// Part of each command that leaves a row in the trail. Nobody: no row.
struct Actor {
  std::string name;
  bool is_nobody() const { return name.empty(); }
};

// What one did, and to what. In the trail of `tenant`, or of what concerns all tenants if it is empty.
struct Deed {
  std::string_view tenant;
  std::string_view action;
  std::string target;
};

AuditWord word_of(const Actor& by, const Deed& deed);
// Inside of a round. Without a detail nothing was changed, and there is no row.
Result<void> note(Node& node, const Actor& by, const Deed& deed, const std::optional<AuditDetail>& detail);

}  // namespace carillon
