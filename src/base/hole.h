// Doors that were open once, and that a test can open again to prove that it would notice.
//
// They exist only in builds with CARILLON_HOLES (the preset `dev`), where the environment of the process names one:
// REOPEN_HOLE=raw_path. Everywhere else `reopened` is a constant, and the compiler leaves nothing of them.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace carillon {

enum class Hole : std::uint8_t {
  raw_path,                // what a call may touch is read off the path as it was sent
  session_outlives_key,    // a session keeps what its key could when it began
  tenant_teaches_global,   // a tenant's word closes a global limit for everybody
  login_in_shared_pool,    // calls without a key stand in one line with all others
  parse_on_net,            // large bodies are read on the net thread, without bounds of their own
  events_on_driver,        // streams are written by the engine's thread, without a bound
  breaker_of_all_tenants,  // one tenant's dead host is everybody's
  crowd_keeps_places,      // who has a connection keeps it, however many he has
  gone_calls_wait,         // a call that was parked stays with the engine when its client has gone
};

#ifdef CARILLON_HOLES

inline constexpr std::array kHoles{
    std::pair(Hole::raw_path, std::string_view("raw_path")),
    std::pair(Hole::session_outlives_key, std::string_view("session_outlives_key")),
    std::pair(Hole::tenant_teaches_global, std::string_view("tenant_teaches_global")),
    std::pair(Hole::login_in_shared_pool, std::string_view("login_in_shared_pool")),
    std::pair(Hole::parse_on_net, std::string_view("parse_on_net")),
    std::pair(Hole::events_on_driver, std::string_view("events_on_driver")),
    std::pair(Hole::breaker_of_all_tenants, std::string_view("breaker_of_all_tenants")),
    std::pair(Hole::crowd_keeps_places, std::string_view("crowd_keeps_places")),
    std::pair(Hole::gone_calls_wait, std::string_view("gone_calls_wait")),
};

inline bool reopened(Hole hole) {
  static const std::string_view wanted = [] {
    const char* const named = std::getenv("REOPEN_HOLE");  // NOLINT(concurrency-mt-unsafe): nobody sets it
    return named == nullptr ? std::string_view() : std::string_view(named);
  }();
  if (wanted.empty()) return false;
  for (const auto& [one, name] : kHoles) {
    if (one == hole) return name == wanted;
  }
  return false;
}

#else

constexpr bool reopened(Hole /*hole*/) { return false; }

#endif

}  // namespace carillon
