// Gates that open: what they held is counted, told and let go, spread over a while.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/attempts/run.h"
#include "engine/calls/job_info.h"
#include "engine/ready/dispatcher.h"
#include "engine/round/part.h"
#include "engine/round/readiness.h"
#include "engine/upkeep/rule_book.h"
#include "store/store.h"

namespace carillon {

class Gates final : public Part {
 public:
  Gates(Store& store, Duration retention, RuleBook& rules, Dispatcher& dispatcher, const Readiness& readiness)
      : store_(store), retention_(retention), rules_(rules), dispatcher_(dispatcher), readiness_(readiness) {}

  // Before anything is picked: lets go what was held until now.
  void open(const Round& round);
  // Inside of a transaction: tells of jobs that have left a gate which is closed still. Its opening will not find them.
  void tell_deferred(Round& round);
  // One was put back because of a closed gate. It was told of by itself.
  void note_put_back(const Run& run, std::string_view reason, Instant now);
  // When one that a gate held may start: within a few seconds of its opening, each at a time of its own.
  std::optional<Instant> released_at(const JobInfo& job, Instant now) const;

  bool has_work(const Round& /*round*/) const override { return !to_write_.empty(); }
  Result<void> write(Round& round) override;
  void next_at(Wake& wake) override;

 private:
  using GateKey = std::pair<std::string, GateKind>;  // whose it is; "": of all
  void note(const Round& round);
  void count_held(const RuleBook::NotedGates::Opening& opened);
  void note_told(const GateKey& gate, JobId job);

  Store& store_;
  const Duration retention_;
  RuleBook& rules_;
  Dispatcher& dispatcher_;
  const Readiness& readiness_;

  // Those that opened within kReleaseSpread.
  struct Reopened {
    RuleBook::Opened what;
    Instant at;
  };
  std::vector<Reopened> reopened_;
  bool noted_ = false;                                 // as far as their history goes, since all is loaded
  std::set<std::string> to_write_;                     // whose history has changed
  std::vector<Deferred> to_tell_;                      // with the next commit
  std::map<GateKey, std::unordered_set<JobId>> told_;  // of gates that are closed: jobs that were told of by themselves
};

}  // namespace carillon
