// The client of workers outside: they lease jobs of a node, keep their leases, and say how they ended.
//
//   pulls.lease({.worker = "w1", .limit = 10, .wait = 30s}, [](Result<std::vector<PulledJob>> jobs) { ... });
//   pulls.settle({{.job = id, .token = token, .outcome = done()}}, [](std::vector<Result<WordAnswer>> answers) { ...
//   });
//
// Any thread. Calls with `done` never wait; `done` is called on the node's driver, once, and must be quick. All of a
// call is one part of one round's transaction: when `done` is called, it was committed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/commands/commands.h"
#include "engine/pulls/pull.h"
#include "engine/round/node.h"

namespace carillon {

class PullClient {
 public:
  explicit PullClient(Node& node);
  PullClient(const PullClient&) = delete;
  PullClient& operator=(const PullClient&) = delete;
  ~PullClient();

  using LeaseDone = std::function<void(Result<std::vector<PulledJob>>)>;
  using ExtendDone = std::function<void(std::vector<Result<BeatAnswer>>)>;
  using SettleDone = std::function<void(std::vector<Result<WordAnswer>>)>;

  // Up to `limit` jobs at once; if there is none, the first within `wait`, else an empty list. Fair between tenants by
  // weight, and under all caps, limits and gates. `unavailable`: the scheduler is disabled, or ends.
  // The number it gives is for `forget`.
  std::uint64_t lease(PullRequest request, LeaseDone done);
  // The caller is gone: no job is leased to it any more, and one that is being leased is handed back. True: `done` is
  // not called. False: it was, or is this very moment.
  bool forget(std::uint64_t call);

  // One answer a beat or word. A foreign job, like an absent one: `not_found` (invariant 28); a token that is not the
  // current one: `stale_token`; the word that settled a job, once more: the same answer (invariant 10).
  void extend(std::vector<PullBeat> beats, ExtendDone done);
  void settle(std::vector<PullWord> words, SettleDone done);

  // These wait for their commit. `stale_token` unless the job's lease is the caller's.
  Result<EffectClaim> claim_effect(std::string_view tenant, std::string_view key, JobId job, std::int64_t token);
  Result<void> effect_done(std::string_view tenant, std::string_view key, JobId job, std::int64_t token,
                           std::string_view result);
  Result<void> effect_undone(std::string_view tenant, std::string_view key, JobId job, std::int64_t token);

  // Those that ask for one of these tenants or hold a lease of theirs; empty: all. By name.
  std::vector<PullWorker> workers(const std::vector<std::string>& tenants = {}) const;

 private:
  struct Calls;

  Node& node_;
  Commands commands_;
  const std::shared_ptr<Calls> calls_;
};

}  // namespace carillon
