#include "server/auth/sessions.h"

#include <utility>

#include "server/auth/digest.h"

namespace carillon::server {

namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::chrono::hours kSessionLength(12);
constexpr std::size_t kSessionsMax = 1000;

}  // namespace

std::string Sessions::make_login(Caller caller, Instant now, std::chrono::minutes length) {
  std::string token = random_text(kTokenBytes);
  const std::scoped_lock lock(mutex_);
  std::erase_if(logins_, [&](const auto& entry) { return entry.second.until <= now; });
  logins_.insert_or_assign(sha256_hex(token), Login{.caller = std::move(caller), .until = now + length});
  return token;
}

std::optional<Caller> Sessions::use_login(std::string_view token, Instant now) {
  const std::scoped_lock lock(mutex_);
  auto login = logins_.extract(sha256_hex(token));
  if (!login || login.mapped().until <= now) return std::nullopt;
  return std::move(login.mapped().caller);
}

std::string Sessions::begin(Caller caller, Instant now) {
  std::string cookie = random_text(kTokenBytes);
  const std::scoped_lock lock(mutex_);
  std::erase_if(sessions_, [&](const auto& entry) { return entry.second.until <= now; });
  while (sessions_.size() >= kSessionsMax) sessions_.erase(sessions_.begin());
  sessions_.insert_or_assign(
      sha256_hex(cookie),
      Session{.caller = std::move(caller), .csrf = random_text(kTokenBytes), .until = now + kSessionLength});
  return cookie;
}

std::optional<Sessions::Session> Sessions::find(std::string_view cookie, Instant now) {
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(sha256_hex(cookie));
  if (found == sessions_.end() || found->second.until <= now) return std::nullopt;
  return found->second;
}

void Sessions::end(std::string_view cookie) {
  const std::scoped_lock lock(mutex_);
  sessions_.erase(sha256_hex(cookie));
}

}  // namespace carillon::server
