// Commands of workers outside, and of handlers: lease, extend, report how attempts ended, guard effects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/pulls/pull.h"
#include "engine/pulls/pull_call.h"

namespace carillon {

class Node;
struct Round;

namespace command {

// Its answer says only that it waits: what it gets comes by the call itself.
struct LeaseJobs {
  using Answer = void;
  PullCallPtr call;
};

struct ExtendLeases {
  using Answer = std::vector<Result<BeatAnswer>>;
  std::vector<PullBeat> beats;
};

struct Report {
  using Answer = std::vector<Result<WordAnswer>>;
  std::vector<PullWord> words;
};

struct ClaimEffect {
  using Answer = EffectClaim;
  std::string tenant;
  std::string key;
  JobId job;
  std::int64_t token = 0;
};
struct FinishEffect {
  using Answer = void;
  std::string tenant;
  std::string key;
  JobId job;
  std::int64_t token = 0;
  std::string result{};  // JSON
};
struct UndoEffect {
  using Answer = void;
  std::string tenant;
  std::string key;
  JobId job;
  std::int64_t token = 0;
};

Result<void> carry_out(const LeaseJobs& command, Node& node, Round& round);
Result<std::vector<Result<BeatAnswer>>> carry_out(const ExtendLeases& command, Node& node, Round& round);
Result<std::vector<Result<WordAnswer>>> carry_out(const Report& command, Node& node, Round& round);
Result<EffectClaim> carry_out(const ClaimEffect& command, Node& node, Round& round);
Result<void> carry_out(const FinishEffect& command, Node& node, Round& round);
Result<void> carry_out(const UndoEffect& command, Node& node, Round& round);

}  // namespace command

}  // namespace carillon
