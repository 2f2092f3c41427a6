#include "daemon/first_key.h"

#include <unistd.h>

#include <filesystem>

#include "daemon/key_file.h"
#include "engine/commands/documents.h"

namespace carillon::daemon {

namespace {

using namespace carillon::server;

Result<void> store_key(EngineHost& host, KeyRing& keys, const ApiKey& key) {
  TRY(host.commands().ask(
      command::PutDocument{.key = {.tenant = {}, .kind = std::string(kKeyKind), .name = key.id},
                           .body = write_key(key),
                           .word = {.tenant = {}, .actor = "server", .action = "key.make", .target = key.id}}));
  keys.put(key);
  return {};
}

}  // namespace

Result<bool> make_first_key(EngineHost& host, KeyRing& keys, const ServerConfig& config) {
  const Instant now = host.queries().now();
  if (config.admin_key) {
    TRY_ASSIGN(const NewKey key, key_from_text(*config.admin_key, now));
    // The same one at each start is nothing new.
    const auto known = keys.find(key.key.id);
    const bool is_same = known && known->hash == key.key.hash && known->scope == Scope::admin && !known->expires_at;
    if (!is_same) TRY(store_key(host, keys, key.key));
    return false;
  }
  if (keys.has_admin(now)) return false;
  const std::filesystem::path path = key_path(config.db);
  TRY(check_key_path(path, config.db, [&keys](std::string_view id) { return keys.find(id).has_value(); }));
  const NewKey key = make_key("admin", Scope::admin, now);
  // First the file: a key that only the database knew would lock everybody out.
  TRY(write_key_file(path, key.text));
  auto stored = store_key(host, keys, key.key);
  if (stored) return true;
  unlink(path.c_str());
  return std::unexpected(std::move(stored).error());
}

}  // namespace carillon::daemon
