#include "engine/commands/tenants.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "engine/round/node.h"

namespace carillon::command {

Result<void> carry_out(const MakeTenant& command, Node& node, Round& round) {
  AdminStore& admin = node.store().admin();
  const std::string& tenant = command.key.tenant;
  const auto known = admin.document(command.key);
  if (known) return {};
  if (known.error().code != ErrorCode::not_found) return std::unexpected(known.error());
  TRY(admin.put_document({.key = command.key, .body = "{}"}, word_of(command.by, {tenant, "tenant.make", tenant})));
  node.apply_document(round, command.key, "{}");  // of global limits something is kept for it from now on
  return {};
}

Result<void> carry_out(const BeginErasure& command, Node& node, Round& round) {
  AdminStore& admin = node.store().admin();
  // All of them before the first is written: an answer that is an error changes nothing.
  for (const BeginErasure::Edit& edit : command.edits) {
    const auto stands = admin.document(edit.key);
    if (!stands && stands.error().code != ErrorCode::not_found) return std::unexpected(stands.error());
    if (stands && stands->revision == edit.revision) continue;
    return failed(ErrorCode::conflict,
                  fmt::format("{} {} was changed meanwhile: try again", edit.key.kind, quoted(edit.key.name)));
  }
  for (const BeginErasure::Edit& edit : command.edits) {
    const AuditWord word = word_of(command.by, {"", edit.action, edit.key.name});
    if (edit.body) {
      TRY(admin.put_document({.key = edit.key, .body = *edit.body}, word));
    } else {
      TRY(admin.delete_document(edit.key, word));
    }
  }
  JsonObject was;
  was.text("tenant", command.tenant);
  TRY(admin.append_audit(word_of(command.by, {"", "tenant.delete", command.tenant}), old_fields(was)));
  return node.erasure().begin(round, command.tenant);
}

Result<void> carry_out(const ServingChanged& command, Node& node, Round& round) {
  round.on_commit.emplace_back([&node, tenant = command.tenant] { node.serving_changed(tenant); });
  return {};
}

}  // namespace carillon::command
