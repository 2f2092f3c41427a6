// What workers outside say of what they hold: heartbeats and ends. Inside of a round. That a worker was heard of is
// true whatever becomes of the commit.
#pragma once

#include <string>
#include <vector>

#include "engine/attempts/attempts.h"
#include "engine/attempts/settlements.h"
#include "engine/pulls/pull.h"
#include "store/store.h"

namespace carillon {

class PullWords {
 public:
  PullWords(Store& store, const RuleBook& rules, Attempts& attempts, Settlements& settlements)
      : store_(store), rules_(rules), attempts_(attempts), settlements_(settlements) {}
  PullWords(const PullWords&) = delete;
  PullWords& operator=(const PullWords&) = delete;
  ~PullWords() = default;

  Result<std::vector<Result<BeatAnswer>>> extend(Round& round, const std::vector<PullBeat>& beats);
  Result<std::vector<Result<WordAnswer>>> settle(Round& round, const std::vector<PullWord>& words);

 private:
  Result<std::string> owner_of(const std::vector<std::string>& tenants, JobId job);
  Result<void> check_held_outside(JobId job, std::int64_t token) const;

  Store& store_;
  const RuleBook& rules_;
  Attempts& attempts_;
  Settlements& settlements_;
};

}  // namespace carillon
