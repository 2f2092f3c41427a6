// How an engine runs, and what jobs and schedules get that say nothing about it.
//
// `load_settings` of carillon/settings.h fills it from a file and the environment.
#pragma once

#include <carillon/time.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace carillon {

// What holds, whatever Client::put_config has stored; nothing: that counts, and then the default.
struct ConfigPins {
  std::optional<bool> enabled;
  std::optional<std::uint32_t> max_concurrent_jobs;  // over all nodes
  std::optional<Duration> check_interval;
  std::optional<std::string> timezone;
  std::optional<std::uint32_t> default_retry_max_attempts;
  std::optional<Duration> default_retry_backoff;
  std::optional<Duration> retention;
};

struct EngineOptions {
  std::uint32_t max_concurrency = 0;          // 0: as many as there are cores
  Duration tick = std::chrono::seconds(1);    // the longest that it sleeps
  Duration drain = std::chrono::seconds(30);  // how long running attempts may take at the end
  Duration retention = std::chrono::days(7);  // finished jobs are kept so long, unless their tenant says otherwise
  std::string worker = "engine";              // its name on leases
  bool leave_unhandled = false;               // types without a handler stay queued, instead of failing
  // Where handlers run, if not on threads of the engine's own: called with a function to call once, on any thread.
  std::function<void(std::function<void()>)> executor = {};

  // Of jobs that say nothing about it. Decided when a job is made: later changes are for later jobs.
  Duration job_timeout = std::chrono::minutes(5);
  Duration lease = std::chrono::minutes(1);
  std::uint32_t max_attempts = 5;
  // Of windows whose schedule says nothing about it.
  std::uint32_t max_backfill_windows = 6;
  Duration min_window = std::chrono::minutes(1);
  std::optional<std::uint32_t> batch = {};  // jobs claimed at once; nothing: as many as pays
  ConfigPins pins = {};
};

}  // namespace carillon
