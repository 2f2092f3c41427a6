#include "engine/host/rehearsal_mark.h"

#include "core/time/instant.h"
#include "store/store.h"

namespace carillon {

namespace {

const DocumentKey& mark_key() {
  static const DocumentKey key{.tenant = {}, .kind = "rehearsal", .name = {}};
  return key;
}

}  // namespace

Result<bool> is_of_rehearsal(Store& store) {
  const auto found = store.reader().document(mark_key());
  if (found) return true;
  if (found.error().code == ErrorCode::not_found) return false;
  return std::unexpected(found.error());
}

Result<bool> is_unused(Store& store) {
  TRY_ASSIGN(const auto documents, store.admin().documents_above({}, 1));
  TRY_ASSIGN(const auto schedules, store.plans().schedule_heads({}, 1));
  TRY_ASSIGN(const auto jobs, store.jobs().load_live({}, kInstantMax, 1));
  return documents.empty() && schedules.empty() && jobs.jobs.empty();
}

Result<void> mark_rehearsal(Store& store) {
  TRY(store.admin().put_document(
      {.key = mark_key(), .body = "{}"},
      AuditWord{.tenant = {}, .actor = "server", .action = "rehearsal.begin", .target = {}}));
  return {};
}

}  // namespace carillon
