#include "engine/commands/actor.h"

#include "engine/round/node.h"

namespace carillon {

AuditWord word_of(const Actor& by, const Deed& deed) {
  return {
      .tenant = std::string(deed.tenant), .actor = by.name, .action = std::string(deed.action), .target = deed.target};
}

Result<void> note(Node& node, const Actor& by, const Deed& deed, const std::optional<AuditDetail>& detail) {
  if (by.is_nobody() || !detail) return {};
  return node.store().admin().append_audit(word_of(by, deed), *detail);
}

}  // namespace carillon
