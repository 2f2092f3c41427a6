// What other threads have asked for: it comes first in a round, and is answered when the round is over.
#pragma once

#include <vector>

#include "engine/round/commits.h"
#include "engine/round/inbox.h"
#include "engine/round/part.h"
#include "engine/round/readiness.h"

namespace carillon {

class Calls final : public Part {
 public:
  Calls(Inbox& inbox, const Readiness& readiness, const Commits& commits)
      : inbox_(inbox), readiness_(readiness), commits_(commits) {}

  // Calls wait for the rules, by which they are judged; but not for a store that does not answer.
  void collect(const Round& /*round*/) override {
    if (readiness_.knows_rules() || commits_.failures_in_a_row() > 0) calls_ = inbox_.take(kCallsMax);
  }
  bool has_work(const Round& /*round*/) const override { return !calls_.empty(); }
  Result<void> write(Round& round) override {
    for (const Call& call : calls_) call.run(round);
    return {};
  }
  void committed(Round& /*round*/, const Result<void>& commit) override { commit_ = commit; }
  void over(const Round& /*round*/) override {
    for (const Call& call : std::exchange(calls_, {})) call.finish(commit_);
  }
  void next_at(Wake& wake) override {
    if (!inbox_.empty()) wake.at_once = true;
  }

 private:
  static constexpr std::size_t kCallsMax = 1000;  // in one round

  Inbox& inbox_;
  const Readiness& readiness_;
  const Commits& commits_;
  std::vector<Call> calls_;
  Result<void> commit_;
};

}  // namespace carillon
