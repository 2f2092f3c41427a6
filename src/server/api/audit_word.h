// What a call leaves in the audit trail: who did what, and to what.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "engine/commands/actor.h"
#include "server/auth/caller.h"

namespace carillon::server {

// In the trail of `tenant`, or of what concerns all tenants if it is empty.
inline AuditWord word_of(const Caller& caller, std::string_view tenant, std::string_view action, std::string target) {
  return {.tenant = std::string(tenant),
          .actor = caller.actor(),
          .action = std::string(action),
          .target = std::move(target)};
}

}  // namespace carillon::server
