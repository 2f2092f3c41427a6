// Keeps what runs: leases are renewed, the store learns what has begun, and who has run too long is timed out.
#pragma once

#include "engine/attempts/attempts.h"
#include "engine/round/part.h"
#include "store/store.h"

namespace carillon {

class Beats final : public Part {
 public:
  Beats(Store& store, Attempts& attempts, std::size_t threads)
      : store_(store), attempts_(attempts), threads_(threads) {}

  void collect(const Round& round) override;
  bool has_work(const Round& /*round*/) const override {
    return !due_.beats.empty() || !attempts_.runs().begun().empty();
  }
  Result<void> write(Round& round) override;
  void next_at(Wake& wake) override { wake.by(attempts_.runs().next_due()); }

 private:
  Result<void> write_begun(Round& round);
  Result<void> write_heartbeats(Round& round);

  Store& store_;
  Attempts& attempts_;
  const std::size_t threads_;
  RunTable::Due due_;
};

}  // namespace carillon
