// Workers outside: what waits for them is claimed in a round, and handed out when it is over.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/attempts/attempts.h"
#include "engine/attempts/leasing.h"
#include "engine/pulls/pull_call.h"
#include "engine/round/part.h"
#include "engine/round/readiness.h"
#include "engine/upkeep/rule_book.h"

namespace carillon {

class Pulls final : public Part {
 public:
  Pulls(const RuleBook& rules, Dispatcher& dispatcher, Attempts& attempts, Leasing& leasing, const Readiness& readiness)
      : rules_(rules), dispatcher_(dispatcher), attempts_(attempts), leasing_(leasing), readiness_(readiness) {}

  // A call that waits for jobs, in this very round already. If that fails, so does the call.
  Result<void> add(Round& round, const PullCallPtr& call);
  // Notes for whom something came.
  void notice(const Round& round) { attempts_.desk().notice(dispatcher_, round.now); }
  // All that was taken out of the ready set for this round.
  void add_picks(std::vector<ReadySet::Pick>& picks) const;

  void collect(const Round& round) override { notice(round); }
  bool has_work(const Round& /*round*/) const override { return attempts_.desk().has_to_look(); }
  // What it notes of a group that was looked at needs no commit: should it fail, the jobs stand again, and are noticed.
  Result<void> write(Round& round) override;
  void committed(Round& round, const Result<void>& commit) override;
  // Who waited long enough, or waits in vain, is told so; then all answers go out.
  void over(const Round& round) override;
  void next_at(Wake& wake) override;

 private:
  // What goes to one waiting call.
  struct Serving {
    PullCallPtr call;
    std::vector<ReadySet::Pick> picks;
    std::optional<std::vector<LeasedJob>> claimed;  // nothing: the claim failed
  };
  std::size_t room_for_pulls() const;
  Result<void> serve(Round& round, PullGroup& group, std::size_t& left);
  void start(Round& round);
  void hand_out(const Round& round, const PullCallPtr& call, const std::vector<RunPtr>& runs);
  void put_back(const Serving& serving, Instant now);

  const RuleBook& rules_;
  Dispatcher& dispatcher_;
  Attempts& attempts_;
  Leasing& leasing_;
  const Readiness& readiness_;
  std::vector<Serving> serving_;
  std::vector<std::function<void()>> answers_;  // to those who called, when the round is over
};

}  // namespace carillon
