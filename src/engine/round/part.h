// A part of a node. A round asks all parts in one order, verb by verb; the order is that of NodeParts.
//
// No part changes what it remembers of the store before the commit is known. What it has heard, and what it proposes,
// may stand in memory before: what was heard is true whatever becomes of the commit, and a proposal is judged by its
// row.
#pragma once

#include <optional>

#include "base/error.h"
#include "engine/round/round.h"

namespace carillon {

// Collects when the parts want their next round.
struct Wake {
  Instant now;
  BootTime boot{};
  // Asks a node that is settled for the next time at which anything is due. What is due by now does not count, nor
  // that it looks once a tick.
  bool of_settled = false;

  bool at_once = false;
  std::optional<Instant> at;
  std::optional<BootTime> timer;  // by the boot clock

  void by(std::optional<Instant> when) {
    if (!when || (of_settled && *when <= now)) return;
    if (!at || *when < *at) at = when;
  }
  void by(std::optional<BootTime> when) {
    if (when && (!timer || *when < *timer)) timer = when;
  }
};

class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  // Before the transaction: takes what waits for this round.
  virtual void collect(const Round& /*round*/) {}
  // Whether there is anything to write. If no part has work, there is no transaction.
  virtual bool has_work(const Round& /*round*/) const { return false; }
  // Inside of the transaction. An error undoes the round.
  virtual Result<void> write(Round& /*round*/) { return {}; }
  // How it went. After a failure nothing of the round has happened, or its answer was lost.
  virtual void committed(Round& /*round*/, const Result<void>& /*commit*/) {}
  // The round is over, also one that wrote nothing: who waits for its end is told.
  virtual void over(const Round& /*round*/) {}
  virtual void next_at(Wake& /*wake*/) {}
};

}  // namespace carillon
