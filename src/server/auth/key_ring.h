// The keys of the API: `id.secret`, of which only the hash of the secret is kept.
//
// Kept in memory for speed and in the store as documents; the memory follows each change after its commit.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "core/time/instant.h"
#include "server/auth/caller.h"

namespace carillon::server {

inline constexpr std::string_view kKeyKind = "key";

struct ApiKey {
  std::string id;
  std::string name;
  Scope scope = Scope::read;
  TenantSet tenants;
  std::string hash;  // of the secret
  Instant created_at;
  std::optional<Instant> expires_at;
};

std::string write_key(const ApiKey& key);
Result<ApiKey> read_key(std::string_view id, std::string_view document);
// Without the hash.
std::string to_json(const ApiKey& key);

// A new key and its text, which is shown once.
struct NewKey {
  ApiKey key;
  std::string text;
};
// One of scope admin is for all tenants, any other for nobody until it is said.
NewKey make_key(std::string name, Scope scope, Instant now);
// The key that this text is, as the operator has set it. The text is `id.secret`, the secret 32 characters or more.
Result<NewKey> key_from_text(std::string_view text, Instant now);

class KeyRing {
 public:
  KeyRing() = default;
  KeyRing(const KeyRing&) = delete;
  KeyRing& operator=(const KeyRing&) = delete;
  ~KeyRing() = default;

  // Any thread.
  // A key that is put anew may do something else: what it has open ends, as with `remove`.
  void put(ApiKey key);
  void remove(std::string_view id);
  bool has_admin(Instant now) const;
  std::optional<ApiKey> find(std::string_view id) const;
  // What the key of this id may now; nothing if it is not there, or its time is over.
  std::optional<Caller> caller(std::string_view id, Instant now) const;
  // The admin key that was made first, of those that are good.
  std::optional<Caller> first_admin(Instant now) const;
  std::vector<ApiKey> all() const;
  // Nothing if there is no such key, it has another secret, or its time is over. `text` is what follows "Bearer ".
  std::optional<Caller> check(std::string_view text, Instant now) const;

  // Called with the id of each key that is removed or replaced, after that. To be set before there are calls.
  void on_change(std::function<void(std::string_view id)> changed) { changed_ = std::move(changed); }
  // How many changes there have been: who remembers a caller for a moment sees that he has to ask again.
  std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

 private:
  static std::optional<Caller> caller_of(const ApiKey& key, Instant now);
  void tell(std::string_view id);

  mutable std::mutex mutex_;
  std::map<std::string, ApiKey, std::less<>> keys_;
  std::atomic<std::uint64_t> changes_ = 0;
  std::function<void(std::string_view id)> changed_;
};

}  // namespace carillon::server
