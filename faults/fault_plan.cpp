#include "faults/fault_plan.h"

#include <sqlite3.h>

#include "base/check.h"

namespace carillon {

std::string_view to_string(IoKind kind) {
  switch (kind) {
    case IoKind::open: return "open";
    case IoKind::read: return "read";
    case IoKind::write: return "write";
    case IoKind::truncate: return "truncate";
    case IoKind::sync: return "sync";
    case IoKind::remove: return "remove";
    case IoKind::file_size: return "file_size";
    case IoKind::access: return "access";
    case IoKind::lock: return "lock";
    case IoKind::shm_map: return "shm_map";
    case IoKind::shm_lock: return "shm_lock";
  }
  UNREACHABLE();
}

int usual_error(IoKind kind) {
  switch (kind) {
    case IoKind::open: return SQLITE_CANTOPEN;
    case IoKind::read: return SQLITE_IOERR_READ;
    case IoKind::write: return SQLITE_IOERR_WRITE;
    case IoKind::truncate: return SQLITE_IOERR_TRUNCATE;
    case IoKind::sync: return SQLITE_IOERR_FSYNC;
    case IoKind::remove: return SQLITE_IOERR_DELETE;
    case IoKind::file_size: return SQLITE_IOERR_FSTAT;
    case IoKind::access: return SQLITE_IOERR_ACCESS;
    case IoKind::lock: return SQLITE_IOERR_LOCK;
    case IoKind::shm_map: return SQLITE_IOERR_SHMMAP;
    case IoKind::shm_lock: return SQLITE_IOERR_SHMLOCK;
  }
  UNREACHABLE();
}

std::uint64_t IoCounts::of(IoKinds kinds) const {
  std::uint64_t sum = 0;
  for (std::size_t kind = 0; kind < kIoKindCount; ++kind) {
    if (kinds.contains(static_cast<IoKind>(kind))) sum += calls[kind];
  }
  return sum;
}

void FaultPlan::add(const Fault& fault) {
  CHECK(fault.nth >= 1);
  // A short read is no failure to SQLite: it goes on with the zeros that a VFS fills in.
  CHECK(fault.code != SQLITE_OK && fault.code != SQLITE_IOERR_SHORT_READ);
  faults_.push_back(fault);
}

void FaultPlan::power_off_at(std::optional<std::uint64_t> nth) {
  CHECK(nth != 0);
  power_off_in_ = nth;
}

IoDecision FaultPlan::next(IoKind kind, std::uint64_t bytes) {
  ++counts_.calls[static_cast<std::size_t>(kind)];
  const IoDecision decision = decide(kind, bytes);
  if (decision.code != SQLITE_OK) ++counts_.failed;
  counts_.bytes_written += decision.bytes;
  return decision;
}

IoDecision FaultPlan::decide(IoKind kind, std::uint64_t bytes) {
  const int fault_code = due_fault(kind);
  if (power_off_in_ && kMutatingKinds.contains(kind) && --*power_off_in_ == 0) {
    power_off_in_.reset();
    return {.code = usual_error(kind), .takes_effect = true, .bytes = bytes, .power_fails = true};
  }
  if (fault_code != SQLITE_OK) return {.code = fault_code, .takes_effect = false};
  if (space_left_ && bytes > *space_left_) {
    // As write(2) does it: what fits is written, and the rest fails.
    const std::uint64_t fits = *space_left_;
    space_left_ = 0;
    return {.code = SQLITE_FULL, .takes_effect = fits > 0, .bytes = fits};
  }
  if (space_left_) *space_left_ -= bytes;
  return {.bytes = bytes};
}

int FaultPlan::due_fault(IoKind kind) {
  int code = SQLITE_OK;
  for (Fault& fault : faults_) {
    if (!fault.kinds.contains(kind)) continue;
    if (fault.nth > 0) --fault.nth;
    if (fault.nth == 0 && code == SQLITE_OK) code = fault.code.value_or(usual_error(kind));
  }
  std::erase_if(faults_, [](const Fault& fault) { return fault.nth == 0 && fault.lasts == FaultLasts::once; });
  return code;
}

}  // namespace carillon
