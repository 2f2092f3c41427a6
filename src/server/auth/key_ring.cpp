#include "server/auth/key_ring.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/json_members.h"
#include "net/digest.h"

namespace carillon::server {

namespace {

constexpr std::size_t kIdBytes = 9;
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kSecretMin = 32;

struct KeyText {
  std::string_view id;
  std::string_view secret;
};

std::optional<KeyText> split(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  return KeyText{.id = text.substr(0, dot), .secret = text.substr(dot + 1)};
}

constexpr std::string_view kAll = "all";
constexpr std::string_view kNone = "none";

std::string tenants_json(const TenantSet& tenants) {
  if (tenants.is_all()) return json_string(kAll);
  if (tenants.is_nobody()) return json_string(kNone);  // never an empty list, which meant all
  JsonArray array;
  for (const std::string& tenant : tenants.names()) array.raw(json_string(tenant));
  return array.str();
}

// Keys that were made when an empty list, or none, meant all stay what they were. Those of scope tenant had to name
// theirs even then.
TenantSet read_tenants(const Json* stored, Scope scope) {
  if (stored != nullptr && stored->type == JsonType::string) {
    return stored->text == kAll ? TenantSet::all() : TenantSet();
  }
  std::vector<std::string> names;
  if (stored != nullptr) {
    for (const Json& tenant : stored->items) names.push_back(tenant.text);
  }
  if (names.empty() && scope != Scope::tenant) return TenantSet::all();
  return TenantSet::of(std::move(names));
}

JsonObject public_part(const ApiKey& key) {
  JsonObject object;
  object.text("id", key.id).text("name", key.name).text("scope", to_string(key.scope));
  object.raw("tenants", tenants_json(key.tenants));
  put(object, "created_at", key.created_at);
  put(object, "expires_at", key.expires_at);
  return object;
}

}  // namespace

std::string_view to_string(Scope scope) {
  switch (scope) {
    case Scope::read: return "read";
    case Scope::worker: return "worker";
    case Scope::tenant: return "tenant";
    case Scope::admin: return "admin";
  }
  UNREACHABLE();
}

std::optional<Scope> scope_from(std::string_view name) {
  for (const Scope scope : {Scope::read, Scope::worker, Scope::tenant, Scope::admin}) {
    if (to_string(scope) == name) return scope;
  }
  return std::nullopt;
}

std::string write_key(const ApiKey& key) {
  JsonObject object = public_part(key);
  object.text("hash", key.hash);
  return object.str();
}

std::string to_json(const ApiKey& key) { return public_part(key).str(); }

Result<ApiKey> read_key(std::string_view id, std::string_view document) {
  TRY_ASSIGN(const Json json, parse_json(document));
  const JsonFields fields = JsonFields::open(document, json, "key");
  ApiKey key{.id = std::string(id)};
  TRY(fields.string("id"));
  TRY_ASSIGN(key.name, fields.string("name"));
  TRY_ASSIGN(const std::string scope, fields.string("scope"));
  TRY_ASSIGN(key.hash, fields.string("hash"));
  const auto known = scope_from(scope);
  if (!known)
    return failed(ErrorCode::database_error, fmt::format("key {} has the scope {}", quoted(id), quoted(scope)));
  key.scope = *known;
  key.tenants = read_tenants(fields.optional("tenants"), key.scope);
  TRY_ASSIGN(const std::string created_at, fields.string("created_at"));
  TRY_ASSIGN(key.created_at, parse_instant(created_at));
  if (const Json* const expires_at = fields.optional("expires_at")) {
    TRY_ASSIGN(key.expires_at, parse_instant(expires_at->text));
  }
  return key;
}

NewKey make_key(std::string name, Scope scope, Instant now) {
  const std::string id = random_text(kIdBytes);
  const std::string secret = random_text(kSecretBytes);
  return {.key = {.id = id,
                  .name = std::move(name),
                  .scope = scope,
                  .tenants = scope == Scope::admin ? TenantSet::all() : TenantSet(),
                  .hash = sha256_hex(secret),
                  .created_at = now},
          .text = id + "." + secret};
}

Result<NewKey> key_from_text(std::string_view text, Instant now) {
  const auto parts = split(text);
  if (!parts || parts->secret.size() < kSecretMin) {
    return invalid_configuration(
        fmt::format("the admin key must be ID.SECRET, the secret of {} characters or more", kSecretMin));
  }
  return NewKey{.key = {.id = std::string(parts->id),
                        .name = "admin",
                        .scope = Scope::admin,
                        .tenants = TenantSet::all(),
                        .hash = sha256_hex(parts->secret),
                        .created_at = now},
                .text = std::string(text)};
}

void KeyRing::put(ApiKey key) {
  const std::string id = key.id;
  bool is_new = false;
  {
    const std::scoped_lock lock(mutex_);
    is_new = keys_.insert_or_assign(id, std::move(key)).second;
  }
  if (!is_new) tell(id);
}

void KeyRing::remove(std::string_view id) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = keys_.find(id);
    if (found == keys_.end()) return;
    keys_.erase(found);
  }
  tell(id);
}

void KeyRing::tell(std::string_view id) {
  changes_.fetch_add(1, std::memory_order_release);
  if (changed_) changed_(id);
}

bool KeyRing::has_admin(Instant now) const { return first_admin(now).has_value(); }

std::optional<ApiKey> KeyRing::find(std::string_view id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = keys_.find(id);
  return found == keys_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<ApiKey> KeyRing::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<ApiKey> keys;
  for (const auto& [id, key] : keys_) keys.push_back(key);
  return keys;
}

std::optional<Caller> KeyRing::check(std::string_view text, Instant now) const {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  const std::string hash = sha256_hex(parts->secret);
  const std::scoped_lock lock(mutex_);
  const auto found = keys_.find(parts->id);
  // An unknown id takes as long as a wrong secret.
  const std::string& stored = found == keys_.end() ? hash : found->second.hash;
  const bool equal = equal_in_constant_time(hash, stored);
  if (found == keys_.end() || !equal) return std::nullopt;
  return caller_of(found->second, now);
}

std::optional<Caller> KeyRing::caller(std::string_view id, Instant now) const {
  const std::scoped_lock lock(mutex_);
  const auto found = keys_.find(id);
  return found == keys_.end() ? std::nullopt : caller_of(found->second, now);
}

std::optional<Caller> KeyRing::first_admin(Instant now) const {
  const std::scoped_lock lock(mutex_);
  const ApiKey* first = nullptr;
  for (const auto& [id, key] : keys_) {
    if (key.scope != Scope::admin || !caller_of(key, now)) continue;
    if (first == nullptr || key.created_at < first->created_at) first = &key;
  }
  return first == nullptr ? std::nullopt : caller_of(*first, now);
}

std::optional<Caller> KeyRing::caller_of(const ApiKey& key, Instant now) {
  if (key.expires_at && *key.expires_at <= now) return std::nullopt;
  return Caller{.id = key.id, .scope = key.scope, .tenants = key.tenants};
}

}  // namespace carillon::server
