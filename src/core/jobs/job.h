// A job as it is asked for, and what is checked about it. What may be left to its defaults: carillon/job.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "carillon/job.h"
#include "core/jobs/job_id.h"
#include "core/policies/retry.h"
#include "core/time/duration.h"
#include "core/time/instant.h"

namespace carillon {

std::optional<Origin> origin_from(std::string_view name);

inline constexpr Duration kLeaseMin = std::chrono::seconds(1);
inline constexpr Duration kLeaseMax = std::chrono::hours(24);

inline constexpr std::size_t kNameBytesMax = 200;  // tenant, queue, type, schedule, limit, tag
inline constexpr std::size_t kKeyBytesMax = 512;   // idempotency key, subject
inline constexpr std::size_t kPayloadBytesMax = 1 << 20;
inline constexpr std::size_t kMetaBytesMax = 16 << 10;
inline constexpr std::size_t kLimitsMax = 4;
inline constexpr std::size_t kTagsMax = 20;
inline constexpr std::size_t kDependenciesMax = 1000;
inline constexpr std::uint32_t kMaxAttemptsMax = 1000;

// One due time of one subject of a schedule. (invariant 1)
struct OccurrenceKey {
  std::string schedule;
  std::string subject;
  Instant slot;
  std::optional<Instant> until;  // of a window: its end
  // What the local clock showed, as minutes since 1970; for a delivery its day and due time. Nothing: that of the slot
  // in UTC.
  std::optional<std::int64_t> local_minute;
  friend bool operator==(const OccurrenceKey&, const OccurrenceKey&) = default;
};

struct NewJob {
  JobId id;  // from the store's `new_job_id`, so that a lost answer can be asked for again; none: the store chooses
  std::string tenant = "default";
  std::string queue = "default";
  std::string type;
  std::string payload = "null";  // JSON, kept byte for byte
  int priority = kPriorityDefault;
  std::optional<Instant> run_at;  // nothing: now
  std::optional<Instant> deadline;
  JobOptions options;
  std::vector<JobId> depends_on;
  std::string subject;                      // of a job without a schedule; else that of its occurrence
  std::optional<OccurrenceKey> occurrence;  // of a schedule of the same tenant
};

// What caused a job, and which one: one that depends on others was caused by them, the first before all, unless
// something else is said of it.
struct Cause {
  Origin origin = Origin::api;
  JobId parent;
};
Cause cause_of(const NewJob& job);

// A name of a tenant, queue, type, schedule, limit or tag: 1 to 200 bytes of printable ASCII without space, '/', '?',
// '#', '"', '\\'. `what` names it in the error.
Result<void> check_name(std::string_view what, std::string_view name);

// How often it may be tried at most: once if it is not retried, whatever else it says. Nothing: only its deadline ends
// it.
std::optional<std::uint32_t> attempts_allowed(const JobOptions& options);

// Refuses what cannot be read or cannot work, naming the field, what was given and what is allowed.
Result<void> check_new_job(const NewJob& job);

}  // namespace carillon
