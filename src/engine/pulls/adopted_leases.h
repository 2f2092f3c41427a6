// Leases of workers outside that an earlier node gave: they count under the next node as they did.
#pragma once

#include "engine/attempts/attempts.h"
#include "engine/ready/dispatcher.h"
#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

class AdoptedLeases {
 public:
  AdoptedLeases(Store& store, Dispatcher& dispatcher, Attempts& attempts)
      : store_(store), dispatcher_(dispatcher), attempts_(attempts) {}
  AdoptedLeases(const AdoptedLeases&) = delete;
  AdoptedLeases& operator=(const AdoptedLeases&) = delete;
  ~AdoptedLeases() = default;

  bool are_known() const { return known_; }
  // Inside of a round's transaction.
  Result<void> read(Round& round);

 private:
  Store& store_;
  Dispatcher& dispatcher_;
  Attempts& attempts_;
  bool known_ = false;
};

}  // namespace carillon
