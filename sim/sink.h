// Where effects go: a ledger outside the store, which knows what really happened. (invariant 18)
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/verdict.h"
#include "store/job_store.h"

namespace carillon::sim {

class Sink {
 public:
  explicit Sink(Findings& findings) : findings_(findings) {}
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  ~Sink() = default;

  // What the guard answered must fit what happened.
  void check(const std::string& key, const EffectClaim& claim) {
    const EffectClaim::Kind kind = claim.kind;
    const auto found = happened_.find(key);
    const bool happened = found != happened_.end() && found->second;
    findings_.expect(kind != EffectClaim::Kind::first || !happened || claim.is_lifted, 18,
                     "effect {} has happened, and is called first", key);
    findings_.expect(!claim.is_lifted || held_.erase(key) == 1, 18, "effect {} is lifted, and nobody was held for it",
                     key);
    findings_.expect(kind != EffectClaim::Kind::done || happened, 18, "effect {} is called done, and never happened",
                     key);
    findings_.expect(kind != EffectClaim::Kind::unknown || found != happened_.end(), 18,
                     "effect {} is called unknown, and nobody began it", key);
    happened_.try_emplace(key, false);
  }
  // Somebody asked and got no answer: it may be begun.
  void may_be_begun(const std::string& key) { happened_.try_emplace(key, false); }
  // An attempt would not run it, because it may have happened: an operator is to decide.
  void hold(const std::string& key) { held_.insert(key); }
  void happen(const std::string& key) { happened_[key] = true; }

 private:
  Findings& findings_;
  std::map<std::string, bool> happened_;  // false: begun
  std::set<std::string> held_;
};

}  // namespace carillon::sim
