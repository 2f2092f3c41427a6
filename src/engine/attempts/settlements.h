// How attempts end: what handlers and workers outside say is written, and what follows from it is told.
#pragma once

#include <vector>

#include "engine/attempts/attempts.h"
#include "engine/attempts/finished.h"
#include "engine/planning/planner.h"
#include "engine/round/commits.h"
#include "engine/round/part.h"
#include "engine/telling/telling.h"
#include "engine/upkeep/gates.h"
#include "engine/upkeep/rule_book.h"
#include "store/store.h"

namespace carillon {

class Settlements final : public Part {
 public:
  Settlements(Store& store, const RuleBook& rules, Dispatcher& dispatcher, Planner& planner, Gates& gates,
              Attempts& attempts, FinishedQueue& finished, Telling& telling, const Commits& commits)
      : store_(store),
        rules_(rules),
        dispatcher_(dispatcher),
        planner_(planner),
        gates_(gates),
        attempts_(attempts),
        finished_(finished),
        telling_(telling),
        commits_(commits) {}

  void collect(const Round& round) override;
  bool has_work(const Round& /*round*/) const override { return !attempts_.words().empty(); }
  Result<void> write(Round& round) override;
  void committed(Round& round, const Result<void>& commit) override;
  void next_at(Wake& wake) override {
    if (!attempts_.words().empty()) wake.at_once = true;
  }

  // Inside of a round: says them to the store.
  Result<std::vector<Result<Settled>>> say(Round& round, const std::vector<Settling>& said);
  // After the commit: the attempt follows what was answered.
  void settled(Round& round, const Settling& settling, const Result<Settled>& answer);
  // What a limit teaches is known as soon as it is heard, whatever becomes of the commit: the next start may be in
  // this very round.
  void rest_limit(const Settling& settling, Instant now);

 private:
  void take(const Round& round, Finished& finished);
  JobDefaults defaults_of_follow_ups(const Finished& finished) const;
  Result<void> check_follow_ups(const Settling& settling) const;
  void told_settled(Round& round, const Settling& settling, const Settled& answer);
  static void tell_stale(Round& round, const Settling& settling);
  static void tell_stopped(Round& round, const Settling& settling);

  Store& store_;
  const RuleBook& rules_;
  Dispatcher& dispatcher_;
  Planner& planner_;
  Gates& gates_;
  Attempts& attempts_;
  FinishedQueue& finished_;
  Telling& telling_;
  const Commits& commits_;
};

}  // namespace carillon
