#include "engine/commands/documents.h"

#include "engine/round/node.h"

namespace carillon::command {

namespace {

AuditWord word_about(const Actor& by, const DocumentKey& key, std::string_view action) {
  return word_of(by, {key.tenant, action, key.name.empty() ? key.kind : key.kind + "/" + key.name});
}

struct RuleToStore {
  const DocumentKey& key;
  std::string body;
  bool is_noted = true;
};

Result<void> store_rule(Node& node, Round& round, const Actor& by, RuleToStore rule) {
  std::optional<AuditWord> word;
  if (rule.is_noted && !by.is_nobody()) word = word_about(by, rule.key, "put");
  TRY(node.store().admin().put_document({.key = rule.key, .body = rule.body}, word));
  node.apply_document(round, rule.key, std::move(rule.body));
  return {};
}

}  // namespace

Result<void> carry_out(PutDocument& command, Node& node, Round& /*round*/) {
  TRY(node.store().admin().put_document({.key = command.key, .body = std::move(command.body)}, command.word));
  return {};
}

Result<void> carry_out(const DeleteDocument& command, Node& node, Round& /*round*/) {
  return node.store().admin().delete_document(command.key, command.word);
}

Result<bool> carry_out(PutWhileThere& command, Node& node, Round& round) {
  if (command.needed) {
    const auto there = node.store().admin().document(*command.needed);
    if (!there && there.error().code == ErrorCode::not_found) return false;
    if (!there) return std::unexpected(there.error());
  }
  TRY(carry_out(command.put, node, round));
  return true;
}

Result<void> carry_out(const PutRule& command, Node& node, Round& round) {
  AdminStore& admin = node.store().admin();
  if (command.body) {
    const auto before = admin.document(command.key);
    TRY_ASSIGN(std::string whole,
               merged_document(command.key.kind, *command.body,
                               before ? std::optional<std::string_view>(before->body) : std::nullopt));
    return store_rule(node, round, command.by, {.key = command.key, .body = std::move(whole)});
  }
  std::optional<AuditWord> word;
  if (!command.by.is_nobody()) word = word_about(command.by, command.key, "delete");
  const auto deleted = admin.delete_document(command.key, word);
  // Clearing what is not set is no error.
  if (!deleted && deleted.error().code != ErrorCode::not_found) return deleted;
  node.apply_document(round, command.key, std::nullopt);
  return {};
}

Result<void> carry_out(const PutSettings& command, Node& node, Round& round) {
  const DocumentKey key{.tenant = command.tenant, .kind = std::string(kSettingsKind), .name = {}};
  const DocumentKey bounds_key{.tenant = command.tenant, .kind = std::string(kBoundsKind), .name = {}};
  AdminStore& admin = node.store().admin();
  SettingsBefore before;
  // What cannot be read counts for nothing, as in the rule book.
  const auto stored = admin.document(key);
  if (stored) before.settings = parse_tenant_settings(stored->body).value_or(TenantSettings{});
  const auto stored_bounds = admin.document(bounds_key);
  before.bounds = bounds_of(before.settings);
  if (stored_bounds) before.bounds = parse_tenant_bounds(stored_bounds->body).value_or(TenantBounds{});
  TRY_ASSIGN(const SettingsAfter after, command.as == PutSettings::As::operators_own
                                            ? put_by_operator(command.settings, before)
                                            : put_by_tenant(command.settings, before, node.config().retention));
  // The trail has one row of it: of the settings, or else of the bounds, if these alone have changed.
  const bool is_same = stored && after.settings == before.settings;
  TRY(store_rule(node, round, command.by,
                 {.key = bounds_key, .body = write_tenant_bounds(after.bounds), .is_noted = is_same}));
  return store_rule(node, round, command.by, {.key = key, .body = write_tenant_settings(after.settings)});
}

Result<void> carry_out(const CheckLimits& command, Node& node, Round& /*round*/) {
  return node.rules().check_limits(command.tenant, command.names, command.before);
}

Result<void> carry_out(const AppendAudit& command, Node& node, Round& /*round*/) {
  return node.store().admin().append_audit(command.word, command.detail);
}

}  // namespace carillon::command
