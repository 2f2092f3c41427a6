// Commands about documents: settings and rules that the engine runs by, what others keep in it, and the audit trail.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/commands/actor.h"
#include "store/rows.h"

namespace carillon {

class Node;
struct Round;

namespace command {

// What the engine only keeps: keys, handlers, hooks, quotas.
struct PutDocument {
  using Answer = void;
  DocumentKey key;
  std::string body;
  AuditWord word;
};
struct DeleteDocument {
  using Answer = void;
  DocumentKey key;
  AuditWord word;
};
// False: `needed`, if it names something, is not there, and nothing was put.
struct PutWhileThere {
  using Answer = bool;
  PutDocument put;
  std::optional<DocumentKey> needed;
};

// A rule that the engine runs by, merged with what is there; without a body it is taken away.
struct PutRule {
  using Answer = void;
  DocumentKey key;
  std::optional<std::string> body;
  Actor by;
};

// What a tenant is, and how far it may go: both in one transaction, as what holds is made of both.
struct PutSettings {
  using Answer = void;
  enum class As : std::uint8_t { operators_own, tenant };
  As as = As::operators_own;
  std::string tenant;
  std::string settings;
  Actor by;
};

// Refuses limits that nobody has, if they must exist. Right after a start it waits until they have been read.
struct CheckLimits {
  using Answer = void;
  std::string tenant;
  std::vector<std::string> names;
  std::vector<std::string> before;  // said so far: may be said again
};

struct AppendAudit {
  using Answer = void;
  AuditWord word;
  AuditDetail detail;
};

Result<void> carry_out(PutDocument& command, Node& node, Round& round);
Result<void> carry_out(const DeleteDocument& command, Node& node, Round& round);
Result<bool> carry_out(PutWhileThere& command, Node& node, Round& round);
Result<void> carry_out(const PutRule& command, Node& node, Round& round);
Result<void> carry_out(const PutSettings& command, Node& node, Round& round);
Result<void> carry_out(const CheckLimits& command, Node& node, Round& round);
Result<void> carry_out(const AppendAudit& command, Node& node, Round& round);

}  // namespace command

}  // namespace carillon
