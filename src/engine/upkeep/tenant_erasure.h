// Tenants that are being deleted: all that is left of each is erased in the background, a slice at a time. Where that
// stands is a document of nobody's, so that it goes on after a restart, and the tenant is not there again by then.
//
// What lives when it begins was refused by who began it. What came in that very moment is cancelled here: a job that
// runs is asked to stop, and waited for.
//
// Called inside of a round's transaction.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/planning/planner.h"
#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

inline constexpr std::string_view kErasureKind = "erasure";  // of nobody; name: the tenant

struct ErasureState {
  std::string tenant;
  ErasePosition position;
  std::uint64_t erased = 0;  // rows
};

std::string write_erasure(const ErasureState& state);
Result<ErasureState> read_erasure(const Document& document);

class TenantErasure {
 public:
  struct Hooks {
    // A document of the tenant is gone: the memory follows, once the round is committed.
    std::function<void(Round&, const DocumentKey&)> document_erased;
    std::function<void(Round&, JobId)> ask_to_stop;
    // Nothing of the tenant is left. After the commit.
    std::function<void(const std::string& tenant)> erased;
  };
  TenantErasure(Store& store, Planner& planner, Hooks hooks)
      : store_(store), planner_(planner), hooks_(std::move(hooks)) {}
  TenantErasure(const TenantErasure&) = delete;
  TenantErasure& operator=(const TenantErasure&) = delete;
  ~TenantErasure() = default;

  // Once more for one that is under way changes nothing.
  Result<void> begin(Round& round, std::string_view tenant);
  // One that was under way when the engine ended.
  void resume(const Document& document);

  // When the next step is due, on the boot clock; nothing if there is no work.
  std::optional<BootTime> next_at() const;
  Result<void> step(Round& round);

 private:
  struct Work {
    BootTime next_at{};
    std::optional<JobId> cancelling;  // live jobs above it
  };
  Result<void> step(Round& round, const std::string& tenant, const Work& work);
  Result<void> cancel_jobs(Round& round, const std::string& tenant, JobId after);
  void go_on(Round& round, const std::string& tenant, Work work);

  Store& store_;
  Planner& planner_;
  const Hooks hooks_;
  std::map<std::string, Work, std::less<>> works_;  // by tenant
};

}  // namespace carillon
