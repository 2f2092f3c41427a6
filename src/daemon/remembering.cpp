#include "daemon/remembering.h"

#include <string>
#include <utility>
#include <vector>

#include "engine/upkeep/tenant_erasure.h"

namespace carillon::daemon {

namespace {

using namespace carillon::server;

constexpr std::size_t kDocumentsPage = 500;

Result<void> remember(const Document& document, Remembered into) {
  const DocumentKey& key = document.key;
  // Such documents are of nobody and come before those of any tenant.
  if (key.kind == kErasureKind) into.tenants.begin_deleting(key.name);
  if (into.tenants.is_being_deleted(key.tenant)) return {};
  if (!key.tenant.empty()) into.tenants.add(key.tenant);
  if (key.kind == kKeyKind) {
    TRY_ASSIGN(ApiKey known, read_key(key.name, document.body));
    for (const std::string& tenant : known.tenants.names()) into.tenants.add(tenant);
    into.keys.put(std::move(known));
  } else if (key.kind == kHandlerKind) {
    TRY_ASSIGN(WebhookConfig config, read_stored_webhook(document.body));
    into.handlers.put(key.tenant, key.name, std::move(config));
  } else if (key.kind == kHookKind) {
    TRY_ASSIGN(HookConfig hook, read_stored_hook(document.body));
    into.hooks.put(key.tenant, key.name, std::move(hook));
  } else if (key.kind == kQuotasKind) {
    TRY_ASSIGN(const Quotas quotas, read_quotas(document.body));
    into.quotas.put(key.tenant, quotas);
  }
  return {};
}

}  // namespace

Result<void> remember_documents(const Queries& queries, Remembered into) {
  DocumentKey after;
  for (;;) {
    TRY_ASSIGN(const std::vector<Document> page, queries.documents_above(after, kDocumentsPage));
    for (const Document& document : page) TRY(remember(document, into));
    if (page.size() < kDocumentsPage) return {};
    after = page.back().key;
  }
}

}  // namespace carillon::daemon
