#include "daemon/rehearsal_mark.h"

#include <fmt/format.h>

#include "engine/host/rehearsal_mark.h"

namespace carillon::daemon {

Result<void> check_rehearsal(Store& store, std::string_view db, Rehearses rehearses) {
  TRY_ASSIGN(const bool marked, is_of_rehearsal(store));
  if (rehearses == Rehearses::no) {
    if (!marked) return {};
    return failed(ErrorCode::conflict,
                  fmt::format("{} is of a rehearsal: serve it with --clock, or give another database", db));
  }
  if (marked) return {};
  TRY_ASSIGN(const bool empty, is_unused(store));
  if (!empty) {
    return failed(ErrorCode::conflict,
                  fmt::format("{} is not of a rehearsal: with --clock give a new one by --db", db));
  }
  return mark_rehearsal(store);
}

}  // namespace carillon::daemon
