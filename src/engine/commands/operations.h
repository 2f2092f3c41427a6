// Questions that only a round can answer: as of one instant, after all that was asked before them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/calls/holds.h"
#include "engine/round/levels.h"
#include "engine/upkeep/rule_book.h"
#include "store/rows.h"

namespace carillon {

class Node;
struct Round;

namespace command {

// How much there is, and how late it is: of all, or what is of these tenants alone.
struct ReadLevels {
  using Answer = NodeLevels;
  std::optional<std::vector<std::string>> tenants;
};

// A small write, to see that the store takes one.
struct Probe {
  struct Answer {
    NodeLevels levels;
    Instant now;
  };
};

// By what the engine runs. Right after a start, what is stored has to be read first.
struct ReadConfig {
  using Answer = EngineConfig;
};

// What stands in the way of a job where it is.
struct ReadHolds {
  struct Answer {
    RuleBook::Held rules;
    PlaceHolds place;
    Instant now;
  };
  std::string tenant;
  JobInfo job;
  TypeId type;
};

Result<NodeLevels> carry_out(const ReadLevels& command, Node& node, Round& round);
Result<Probe::Answer> carry_out(const Probe& command, Node& node, Round& round);
Result<EngineConfig> carry_out(const ReadConfig& command, Node& node, Round& round);
Result<ReadHolds::Answer> carry_out(const ReadHolds& command, Node& node, Round& round);

}  // namespace command

}  // namespace carillon
