#include "daemon/rehearsal_mark.h"

#include <fmt/format.h>

#include "core/time/instant.h"

namespace carillon::daemon {

namespace {

const DocumentKey& mark_key() {
  static const DocumentKey key{.tenant = {}, .kind = "rehearsal", .name = {}};
  return key;
}

Result<bool> is_marked(Store& store) {
  const auto found = store.reader().document(mark_key());
  if (found) return true;
  if (found.error().code == ErrorCode::not_found) return false;
  return std::unexpected(found.error());
}

Result<bool> is_empty(Store& store) {
  TRY_ASSIGN(const auto documents, store.admin().documents_above({}, 1));
  TRY_ASSIGN(const auto schedules, store.plans().schedule_heads({}, 1));
  TRY_ASSIGN(const auto jobs, store.jobs().load_live({}, kInstantMax, 1));
  return documents.empty() && schedules.empty() && jobs.jobs.empty();
}

}  // namespace

Result<void> check_rehearsal(Store& store, std::string_view db, Rehearses rehearses) {
  TRY_ASSIGN(const bool marked, is_marked(store));
  if (rehearses == Rehearses::no) {
    if (!marked) return {};
    return failed(ErrorCode::conflict,
                  fmt::format("{} is of a rehearsal: serve it with --clock, or give another database", db));
  }
  if (marked) return {};
  TRY_ASSIGN(const bool empty, is_empty(store));
  if (!empty) {
    return failed(ErrorCode::conflict,
                  fmt::format("{} is not of a rehearsal: with --clock give a new one by --db", db));
  }
  TRY(store.admin().put_document(
      {.key = mark_key(), .body = "{}"},
      AuditWord{.tenant = {}, .actor = "server", .action = "rehearsal.begin", .target = {}}));
  return {};
}

}  // namespace carillon::daemon
