#include "config/library_config.h"

#include <array>
#include <utility>

#include "core/jobs/job.h"
#include "core/settings/settings.h"
#include "core/time/zone.h"
#include "core/triggers/trigger.h"

namespace carillon::config {

namespace {

using namespace std::chrono_literals;
using Of = Kinds<LibraryConfig>;

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kWeekMs = std::int64_t{7} * 24 * kHourMs;
constexpr std::int64_t kNodeConcurrencyMax = 10'000;
constexpr double kDepthMax = 1e9;

Result<void> check_zone(const std::string& zone) {
  if (Zone::load(zone)) return {};
  return invalid_request("a zone of the IANA database, such as Europe/London");
}

constexpr std::array kLogLevels{std::pair<std::string_view, LogLevel>{"debug", LogLevel::debug},
                                std::pair<std::string_view, LogLevel>{"info", LogLevel::info},
                                std::pair<std::string_view, LogLevel>{"warn", LogLevel::warn},
                                std::pair<std::string_view, LogLevel>{"error", LogLevel::error}};
constexpr std::array kLogFormats{std::pair<std::string_view, LogFormat>{"auto", LogFormat::automatic},
                                 std::pair<std::string_view, LogFormat>{"json", LogFormat::json},
                                 std::pair<std::string_view, LogFormat>{"text", LogFormat::text}};

void add_engine(std::vector<Of::One>& out) {
  using Config = LibraryConfig;
  out.push_back(Of::count({named("max_concurrency", {.flag = "--max-concurrency"})},
                          "Jobs that run at once on this node (default: as many as there are cores)",
                          {.min = 1, .max = kNodeConcurrencyMax}, Of::at(&Config::max_concurrency)));
  out.push_back(Of::span({named("tick_ms", {.flag = "--tick-ms"}), named("check_interval_seconds", {.scale = 1000}),
                          named("scheduler.tick_minutes", {.also = "SCHEDULER_TICK_MINUTES", .scale = 60'000}),
                          named("worker.poll_ms", {.also = "WORKER_POLL_MS"})},
                         "The longest that the engine sleeps, in milliseconds", {.min = 1, .max = kHourMs},
                         Of::at(&Config::tick)));
  out.push_back(Of::span({named("job_timeout_ms", {.flag = "--job-timeout-ms"})},
                         "How long an attempt may take that says nothing about it, in milliseconds",
                         {.min = 1, .max = kWeekMs}, Of::at(&Config::job_timeout)));
  out.push_back(Of::duration(named("drain", {.flag = "--drain"}), "How long running attempts may take at the end",
                             {.min = 0s, .max = 1h}, Of::at(&Config::drain)));
  out.push_back(Of::duration(named("retention", {.flag = "--retention"}), "How long finished jobs are kept",
                             {.min = kRetentionMin, .max = kDurationMax}, Of::at(&Config::retention)));
  out.push_back(Of::boolean(named("enabled"), "Whether jobs are started", Of::at(&Config::enabled)));
  out.push_back(Of::count({named("max_concurrent_jobs")}, "Jobs that run at once over all nodes",
                          {.min = 1, .max = kConcurrencyMax}, Of::at(&Config::max_concurrent_jobs)));
  out.push_back(Of::text(named("timezone"), "The zone of schedules that name none", "ZONE", Of::at(&Config::timezone),
                         check_zone));
}

void add_defaults(std::vector<Of::One>& out) {
  const auto scheduler = [](auto member) { return Of::inside(&LibraryConfig::scheduler, member); };
  const auto worker = [](auto member) { return Of::inside(&LibraryConfig::worker, member); };
  out.push_back(Of::count({named("scheduler.max_backfill_windows", {.also = "SCHEDULER_MAX_BACKFILL_WINDOWS"})},
                          "Windows of a subject that may be open at once", {.min = 1, .max = kMaxBackfillMax},
                          scheduler(&SchedulerDefaults::max_backfill_windows)));
  out.push_back(Of::span({named("scheduler.min_window_seconds", {.also = "SCHEDULER_MIN_WINDOW_SECONDS"})},
                         "The shortest window, in seconds", {.min = 1, .max = 86'400},
                         scheduler(&SchedulerDefaults::min_window), 1s));
  out.push_back(Of::count({named("worker.batch", {.also = "WORKER_BATCH"})}, "Jobs claimed at once",
                          {.min = 1, .max = 1000}, worker(&WorkerDefaults::batch)));
  out.push_back(Of::span({named("worker.lease_ms", {.also = "WORKER_LEASE_MS"})},
                         "How long a lease lasts, in milliseconds", {.min = 1000, .max = 24 * kHourMs},
                         worker(&WorkerDefaults::lease)));
  out.push_back(
      Of::count({named("worker.max_attempts", {.also = "WORKER_MAX_ATTEMPTS"}), named("default_retry_max_attempts")},
                "Attempts of a job that says nothing about it", {.min = 1, .max = kMaxAttemptsMax},
                worker(&WorkerDefaults::max_attempts)));
  out.push_back(Of::span({named("default_retry_backoff_seconds")},
                         "The first wait between attempts of a job that says nothing about it, in seconds",
                         {.min = 1, .max = 86'400}, worker(&WorkerDefaults::retry_backoff), 1s));
}

}  // namespace

std::vector<Setting<LibraryConfig>> event_log_settings() {
  const auto any = [](const std::string& /*text*/) -> Result<void> { return {}; };
  return {Of::text(named("event_log", {.flag = "--event-log"}), "Write each event to it as a JSON line", "FILE",
                   Of::at(&LibraryConfig::event_log), any)};
}

std::vector<Setting<LibraryConfig>> log_settings() {
  return {Of::choice(named("log.level", {.flag = "--log-level"}), "The least that is logged", kLogLevels,
                     &LibraryConfig::log_level),
          Of::choice(named("log.format", {.flag = "--log-format"}), "How it is logged", kLogFormats,
                     &LibraryConfig::log_format)};
}

std::vector<Setting<LibraryConfig>> engine_settings() {
  std::vector<Of::One> out;
  add_engine(out);
  add_defaults(out);
  return out;
}

std::vector<Setting<LibraryConfig>> slo_settings() {
  const auto slo = [](auto member) { return Of::inside(&LibraryConfig::slo, member); };
  return {Of::span({named("slo_eval_ms")}, "How often objectives are looked at, in milliseconds",
                   {.min = 100, .max = kHourMs}, slo(&SloOptions::eval)),
          Of::span({named("slo_window_minutes")}, "Over how long, in minutes", {.min = 1, .max = 1440},
                   slo(&SloOptions::window), 1min),
          Of::span({named("tick_budget_ms")}, "p95 of a tick, in milliseconds", {.min = 1, .max = kHourMs},
                   slo(&SloOptions::tick_budget)),
          Of::number("sat_ratio", "Share of samples in which every slot is taken", {.min = 0, .max = 1},
                     slo(&SloOptions::sat_ratio)),
          Of::number("depth_avg_max", "Mean depth of the queue", {.min = 0, .max = kDepthMax},
                     slo(&SloOptions::depth_avg_max)),
          Of::span({named("job_p95_max_ms")}, "p95 of an attempt, in milliseconds", {.min = 1, .max = kWeekMs},
                   slo(&SloOptions::job_p95_max)),
          Of::number("cutoff_rate_max", "Share of deliveries that reach their cutoff", {.min = 0, .max = 1},
                     slo(&SloOptions::cutoff_rate_max)),
          Of::number("dlq_max", "Jobs in the DLQ", {.min = 0, .max = kDepthMax}, slo(&SloOptions::dlq_max)),
          Of::number("stalled_max", "Leases lost in the window", {.min = 0, .max = kDepthMax},
                     slo(&SloOptions::stalled_max)),
          Of::count({named("breach_consecutive")}, "Breaches in a row before a warning", {.min = 1, .max = 1000},
                    slo(&SloOptions::breach_consecutive))};
}

EngineOptions engine_options_of(const LibraryConfig& config,
                                const std::function<bool(std::string_view key)>& is_given) {
  const auto if_given = [&](std::string_view key, auto value) {
    return is_given(key) ? std::optional<decltype(value)>(value) : std::nullopt;
  };
  EngineOptions options;
  options.max_concurrency = config.max_concurrency;
  options.tick = config.tick;
  options.drain = config.drain;
  options.retention = config.retention;
  options.job_timeout = config.job_timeout;
  options.lease = config.worker.lease;
  options.max_attempts = config.worker.max_attempts;
  options.max_backfill_windows = config.scheduler.max_backfill_windows;
  options.min_window = config.scheduler.min_window;
  options.batch = config.worker.batch;
  options.pins = {.enabled = config.enabled,
                  .max_concurrent_jobs = config.max_concurrent_jobs,
                  .check_interval = if_given("tick_ms", config.tick),
                  .timezone = config.timezone,
                  .default_retry_max_attempts = if_given("worker.max_attempts", config.worker.max_attempts),
                  .default_retry_backoff = config.worker.retry_backoff,
                  .retention = if_given("retention", config.retention)};
  return options;
}

}  // namespace carillon::config
