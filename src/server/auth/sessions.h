// People at the page: a one-time login link or a key is exchanged for a cookie. In memory: a restart signs everybody
// out.
//
// A session knows whose it is and nothing of what that key may: who finds one asks the key ring, at each call.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/time/instant.h"
#include "server/auth/caller.h"

namespace carillon::server {

class Sessions {
 public:
  // The oldest make room.
  static constexpr std::size_t kOfKeyMax = 20;
  static constexpr std::size_t kAllMax = 1000;
  static constexpr std::size_t kLoginsOfKeyMax = 10;  // links that nobody has used yet
  static constexpr std::size_t kLoginsMax = 100;
  static constexpr std::size_t kBeginsMax = 30;  // of a key in a minute: each leaves a row in the audit trail
  static constexpr std::chrono::hours kLength{12};

  Sessions() = default;
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;
  ~Sessions() = default;

  // A token that signs its bearer in once, within `length`, with the key of this id.
  std::string make_login(std::string key, Instant now, std::chrono::minutes length);
  // The key's id.
  std::optional<std::string> use_login(std::string_view token, Instant now);

  struct Session {
    std::string id;    // not the cookie: nobody can act with it
    std::string key;   // its id
    std::string csrf;  // to be sent along with every write
    Instant until;
    std::optional<Caller> copy;  // only for Hole::session_outlives_key
  };
  struct Begun {
    std::string cookie;  // its value
    std::string csrf;
  };
  // One more sign-in with the key of this id; how long to wait, if it had too many in this minute. `now` may go back.
  std::optional<std::chrono::seconds> wait_to_begin(const std::string& key, Instant now);
  Begun begin(const Caller& caller, Instant now);
  std::optional<Session> find(std::string_view cookie, Instant now);
  // Whether the session of this id is not over.
  bool stands(std::string_view id, Instant now) const;
  void end(std::string_view cookie);
  // Called with the id of each that `end` has ended, after that. To be set before there are calls.
  void on_end(std::function<void(std::string_view id)> ended) { ended_ = std::move(ended); }
  // The key is gone, or may something else: its sessions and links end.
  void end_of_key(std::string_view key);

 private:
  struct Login {
    std::string key;
    Instant until;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Login, std::less<>> logins_;      // by the hash of the token
  std::map<std::string, Session, std::less<>> sessions_;  // by the hash of the cookie, which is their id
  std::int64_t minute_ = 0;
  std::map<std::string, std::size_t> begun_;  // in this minute, by key
  std::function<void(std::string_view id)> ended_;
};

}  // namespace carillon::server
