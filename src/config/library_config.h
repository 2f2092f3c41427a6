// What can be set for an engine, its log and its objectives: the settings that a program with the library and a server
// have in common.
#pragma once

#include <carillon/engine_options.h>
#include <carillon/log.h>
#include <carillon/slo.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/setting.h"
#include "core/time/duration.h"

namespace carillon::config {

// What windows are made of, unless a schedule says otherwise.
struct SchedulerDefaults {
  std::uint32_t max_backfill_windows = 6;
  Duration min_window = std::chrono::minutes(1);
};

// What a lease and a job get that say nothing about it.
struct WorkerDefaults {
  std::optional<std::uint32_t> batch;  // jobs claimed at once; nothing: as many as pays
  Duration lease = std::chrono::minutes(1);
  std::uint32_t max_attempts = 5;
  std::optional<Duration> retry_backoff;
};

struct LibraryConfig {
  std::optional<std::string> event_log;

  std::uint32_t max_concurrency = 0;  // of this node; 0: as many as there are cores
  Duration tick = std::chrono::seconds(1);
  Duration job_timeout = std::chrono::minutes(5);
  Duration drain = std::chrono::seconds(30);
  Duration retention = std::chrono::days(7);

  // What `/v1/config` can set as well, where nothing is pinned here.
  std::optional<bool> enabled;
  std::optional<std::uint32_t> max_concurrent_jobs;
  std::optional<std::string> timezone;

  SchedulerDefaults scheduler;
  WorkerDefaults worker;
  SloOptions slo;
  LogLevel log_level = LogLevel::info;
  LogFormat log_format = LogFormat::automatic;
};

// In parts, in the order in which a server shows them.
std::vector<Setting<LibraryConfig>> event_log_settings();
std::vector<Setting<LibraryConfig>> log_settings();
std::vector<Setting<LibraryConfig>> engine_settings();
std::vector<Setting<LibraryConfig>> slo_settings();

// Only what was given holds against the stored configuration: a default ranks below it.
EngineOptions engine_options_of(const LibraryConfig& config, const std::function<bool(std::string_view key)>& is_given);

}  // namespace carillon::config
