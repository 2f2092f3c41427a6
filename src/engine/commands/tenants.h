// Commands about tenants: made by their first write, and erased with all that is theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/commands/actor.h"
#include "store/rows.h"

namespace carillon {

class Node;
struct Round;

namespace command {

// Nothing happens if it is there: another call may have been the first.
struct MakeTenant {
  using Answer = void;
  DocumentKey key;  // of the document that says that it is there
  Actor by;
};

// From here on it goes on by itself, whatever happens to this process.
struct BeginErasure {
  using Answer = void;
  // A document of nobody that names the tenant: what it is to be then; without a body it goes. `conflict` unless it
  // still has the revision that this was made from.
  struct Edit {
    DocumentKey key;
    std::int64_t revision = 0;
    std::optional<std::string> body;
    std::string action;  // in the trail
  };
  std::string tenant;
  std::vector<Edit> edits;
  Actor by;
};

// What `Dispatcher::Serves` says of the tenant has changed.
struct ServingChanged {
  using Answer = void;
  std::string tenant;
};

Result<void> carry_out(const MakeTenant& command, Node& node, Round& round);
Result<void> carry_out(const BeginErasure& command, Node& node, Round& round);
Result<void> carry_out(const ServingChanged& command, Node& node, Round& round);

}  // namespace command

}  // namespace carillon
