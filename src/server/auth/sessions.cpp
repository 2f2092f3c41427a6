#include "server/auth/sessions.h"

#include <algorithm>
#include <utility>

#include "base/hole.h"
#include "net/digest.h"

namespace carillon::server {

namespace {

constexpr std::size_t kTokenBytes = 32;

// Those that end first go, until fewer than `most` are left of those that `counts`.
template <typename Map, typename Counts>
void make_room(Map& map, std::size_t most, Counts counts) {
  const auto counted = [&](const auto& entry) { return counts(entry.second); };
  while (static_cast<std::size_t>(std::ranges::count_if(map, counted)) >= most) {
    auto first = map.end();
    for (auto entry = map.begin(); entry != map.end(); ++entry) {
      if (counted(*entry) && (first == map.end() || entry->second.until < first->second.until)) first = entry;
    }
    map.erase(first);
  }
}

}  // namespace

std::string Sessions::make_login(std::string key, Instant now, std::chrono::minutes length) {
  std::string token = random_text(kTokenBytes);
  const std::scoped_lock lock(mutex_);
  std::erase_if(logins_, [&](const auto& entry) { return entry.second.until <= now; });
  make_room(logins_, kLoginsOfKeyMax, [&](const Login& one) { return one.key == key; });
  make_room(logins_, kLoginsMax, [](const Login&) { return true; });
  logins_.insert_or_assign(sha256_hex(token), Login{.key = std::move(key), .until = now + length});
  return token;
}

std::optional<std::string> Sessions::use_login(std::string_view token, Instant now) {
  const std::scoped_lock lock(mutex_);
  auto login = logins_.extract(sha256_hex(token));
  if (!login || login.mapped().until <= now) return std::nullopt;
  return std::move(login.mapped().key);
}

std::optional<std::chrono::seconds> Sessions::wait_to_begin(const std::string& key, Instant now) {
  const auto minute = std::chrono::floor<std::chrono::minutes>(now);
  const std::scoped_lock lock(mutex_);
  if (std::exchange(minute_, minute.time_since_epoch().count()) != minute.time_since_epoch().count()) begun_.clear();
  std::size_t& begun = begun_[key];
  if (begun < kBeginsMax) {
    ++begun;
    return std::nullopt;
  }
  return std::chrono::ceil<std::chrono::seconds>(minute + std::chrono::minutes(1) - now);
}

Sessions::Begun Sessions::begin(const Caller& caller, Instant now) {
  Begun begun{.cookie = random_text(kTokenBytes), .csrf = random_text(kTokenBytes)};
  std::string id = sha256_hex(begun.cookie);
  Session session{.id = id, .key = caller.id, .csrf = begun.csrf, .until = now + kLength};
  if (reopened(Hole::session_outlives_key)) session.copy = caller;
  const std::scoped_lock lock(mutex_);
  std::erase_if(sessions_, [&](const auto& entry) { return entry.second.until <= now; });
  make_room(sessions_, kOfKeyMax, [&](const Session& one) { return one.key == caller.id; });
  make_room(sessions_, kAllMax, [](const Session&) { return true; });
  sessions_.insert_or_assign(std::move(id), std::move(session));
  return begun;
}

std::optional<Sessions::Session> Sessions::find(std::string_view cookie, Instant now) {
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(sha256_hex(cookie));
  if (found == sessions_.end() || found->second.until <= now) return std::nullopt;
  return found->second;
}

bool Sessions::stands(std::string_view id, Instant now) const {
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(id);
  return found != sessions_.end() && found->second.until > now;
}

void Sessions::end(std::string_view cookie) {
  const std::string id = sha256_hex(cookie);
  {
    const std::scoped_lock lock(mutex_);
    if (sessions_.erase(id) == 0) return;
  }
  if (ended_) ended_(id);
}

void Sessions::end_of_key(std::string_view key) {
  const auto is_its = [&](const auto& entry) { return entry.second.key == key; };
  const std::scoped_lock lock(mutex_);
  std::erase_if(logins_, is_its);
  if (!reopened(Hole::session_outlives_key)) std::erase_if(sessions_, is_its);
}

}  // namespace carillon::server
