// People at the page: a one-time login link or a key is exchanged for a cookie. In memory: a restart signs everybody
// out.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/instant.h"
#include "server/auth/caller.h"

namespace carillon::server {

inline constexpr std::string_view kSessionCookie = "carillon_session";

class Sessions {
 public:
  Sessions() = default;
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;
  ~Sessions() = default;

  // A token that signs its bearer in once, within `length`.
  std::string make_login(Caller caller, Instant now, std::chrono::minutes length);
  std::optional<Caller> use_login(std::string_view token, Instant now);

  struct Session {
    Caller caller;
    std::string csrf;  // to be sent along with every write
    Instant until;
  };
  // The cookie's value.
  std::string begin(Caller caller, Instant now);
  std::optional<Session> find(std::string_view cookie, Instant now);
  void end(std::string_view cookie);

 private:
  struct Login {
    Caller caller;
    Instant until;
  };
  std::mutex mutex_;
  std::map<std::string, Login, std::less<>> logins_;      // by the hash of the token
  std::map<std::string, Session, std::less<>> sessions_;  // by the hash of the cookie
};

}  // namespace carillon::server
