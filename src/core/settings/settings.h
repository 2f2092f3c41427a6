// The documents that operators and tenants set. Each is a JSON object outside and a plain struct inside.
//
// Reading is strict: a field that nobody knows, a wrong type and a value out of range are errors that name the field,
// line and column. A text that cannot be read is invalid_request; one that can be read but not work (an unknown zone,
// quiet hours without length, a burst without a rate) is invalid_configuration.
//
// A document may be read onto what is set already: a field that is given replaces, null clears, an absent one leaves as
// it was. Writing names every field, null where there is nothing, so that what was written reads back as the same,
// whatever it is read onto. Instants are kept to the millisecond.
#pragma once

#include <carillon/engine_options.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/policies/limit_rule.h"
#include "core/time/duration.h"
#include "core/time/instant.h"
#include "core/time/local_time.h"

namespace carillon {

// Of every cap on running jobs; each is at least 1, as that nothing may run is said by pausing.
inline constexpr std::uint32_t kConcurrencyMax = 1'000'000'000;
inline constexpr std::uint32_t kWeightMax = 1000;
inline constexpr Duration kRetentionMin = std::chrono::seconds(1);
inline constexpr std::size_t kReasonBytesMax = 500;
inline constexpr std::uint32_t kCheckIntervalSecondsMax = 3600;
inline constexpr std::uint32_t kRetryBackoffSecondsMax = 86'400;

// From `start` until `end` by the wall clock; if `end` is the earlier one, until the next day. Never equal.
struct QuietHours {
  TimeOfDay start;
  TimeOfDay end;
  std::vector<Weekday> days;            // on which they start, Monday first, each once; none named: every day
  std::optional<std::string> timezone;  // default: the tenant's
  friend bool operator==(const QuietHours&, const QuietHours&) = default;
};

// `/v1/tenants/{tenant}/settings`.
struct TenantSettings {
  std::optional<std::string> timezone;  // default: UTC
  std::optional<QuietHours> quiet_hours;
  std::optional<std::uint32_t> max_concurrency;
  std::uint32_t weight = 1;           // starts in each round of the tenants, 1 to 1,000
  std::optional<Duration> retention;  // default: the engine's
  bool paused = false;
  friend bool operator==(const TenantSettings&, const TenantSettings&) = default;
};

// `/maintenance`, of a tenant or for all. That the document exists means that it is on.
struct Maintenance {
  std::optional<Instant> until;  // nothing: until it is lifted
  std::string reason;            // one line, for people
  friend bool operator==(const Maintenance&, const Maintenance&) = default;
};

// `/v1/tenants/{tenant}/queues/{queue}`.
struct QueueSettings {
  std::optional<std::uint32_t> max_concurrency;
  bool paused = false;
  friend bool operator==(const QueueSettings&, const QueueSettings&) = default;
};

// `/v1/config`: what holds for all tenants and nodes (S1 scheduler_config).
struct EngineConfig {
  bool enabled = true;
  std::optional<std::uint32_t> max_concurrent_jobs;         // over all nodes
  std::optional<Duration> check_interval;                   // the longest that the engine sleeps
  std::optional<std::string> timezone;                      // of tenants that have none
  std::optional<std::uint32_t> default_retry_max_attempts;  // of jobs that do not say
  std::optional<Duration> default_retry_backoff;            // the same: exponential, from this on
  std::optional<Duration> retention;
  friend bool operator==(const EngineConfig&, const EngineConfig&) = default;
};

// What the operator's flags, environment and file say of it holds.
EngineConfig pinned(EngineConfig stored, const ConfigPins& pins);

Result<QuietHours> parse_quiet_hours(std::string_view json);
Result<TenantSettings> parse_tenant_settings(std::string_view json, TenantSettings onto = {});
Result<Maintenance> parse_maintenance(std::string_view json);
Result<QueueSettings> parse_queue_settings(std::string_view json, QueueSettings onto = {});
Result<EngineConfig> parse_engine_config(std::string_view json, EngineConfig onto = {});
// {"rate": 10, "per": "1s", "burst": 20, "concurrency": 4}
Result<LimitRule> parse_limit_rule(std::string_view json);

std::string write_quiet_hours(const QuietHours& quiet);
std::string write_tenant_settings(const TenantSettings& settings);
std::string write_maintenance(const Maintenance& maintenance);
std::string write_queue_settings(const QueueSettings& settings);
std::string write_engine_config(const EngineConfig& config);
std::string write_limit_rule(const LimitRule& rule);

}  // namespace carillon
