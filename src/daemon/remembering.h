// What a server has in memory of its store's documents: keys, tenants, handlers, hooks, quotas.
#pragma once

#include "base/error.h"
#include "engine/calls/queries.h"
#include "server/api/handler_book.h"
#include "server/api/hook_config.h"
#include "server/api/quotas.h"
#include "server/api/tenant_book.h"
#include "server/api/tenants.h"
#include "server/auth/key_ring.h"

namespace carillon::daemon {

struct Remembered {
  // NOLINTBEGIN(cppcoreguidelines-avoid-const-or-ref-data-members): lives as long as one call
  server::KeyRing& keys;
  server::Tenants& tenants;
  server::HandlerBook& handlers;
  server::TenantBook<server::HookConfig>& hooks;
  server::QuotaBook& quotas;
  // NOLINTEND(cppcoreguidelines-avoid-const-or-ref-data-members)
};

// Every document, page by page. To be called once, before anything runs.
Result<void> remember_documents(const Queries& queries, Remembered into);

}  // namespace carillon::daemon
