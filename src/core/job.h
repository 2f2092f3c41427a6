// A job as it is asked for, and what of it may be left to its defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/duration.h"
#include "core/instant.h"
#include "core/job_id.h"
#include "core/retry.h"

namespace carillon {

// What caused a job.
enum class Origin : std::uint8_t { api, scheduled, manual, dependent };

std::string_view to_string(Origin origin);
std::optional<Origin> origin_from(std::string_view name);

// What a crash between an effect and its record means, where the effect cannot be asked. (invariant 18)
enum class OnAmbiguous : std::uint8_t { retry, hold };

// How long an idempotency key stays with its job. (invariant 17)
struct KeyHold {
  enum class Until : std::uint8_t { pruned, done, elapsed };
  Until until = Until::pruned;
  Duration duration{};  // of elapsed
  friend bool operator==(const KeyHold&, const KeyHold&) = default;
};

inline constexpr int kPriorityMin = 1;  // first
inline constexpr int kPriorityMax = 5;
inline constexpr int kPriorityDefault = 3;

inline constexpr Duration kTimeoutDefault = std::chrono::minutes(5);
inline constexpr Duration kLeaseDefault = std::chrono::seconds(60);
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

// What most jobs leave as it is.
struct JobOptions {
  std::optional<RetryPolicy> retry;                                 // nothing: RetryTable
  std::optional<std::uint32_t> max_attempts = kMaxAttemptsDefault;  // nothing: only the deadline ends it
  Duration timeout = kTimeoutDefault;
  Duration lease = kLeaseDefault;
  std::vector<std::string> limits;
  bool notifies = false;
  bool run_anyway = false;  // also if a job that it depends on does not end as done
  OnAmbiguous on_ambiguous = OnAmbiguous::retry;
  std::vector<std::string> tags;
  std::string meta;        // a JSON object, or nothing
  std::string created_by;  // a key's name
  Origin origin = Origin::api;
  JobId parent;
  std::string idempotency_key;  // "": none
  KeyHold unique_until;
  std::string key;  // readable name of an occurrence, of windows
};

// One due time of one subject of a schedule. (invariant 1)
struct OccurrenceKey {
  std::string schedule;
  std::string subject;
  Instant slot;
  std::optional<Instant> until;  // of a window: its end
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

// A name of a tenant, queue, type, schedule, limit or tag: 1 to 200 bytes of printable ASCII without space, '/', '?',
// '#', '"', '\\'. `what` names it in the error.
Result<void> check_name(std::string_view what, std::string_view name);

// Refuses what cannot be read or cannot work, naming the field, what was given and what is allowed.
Result<void> check_new_job(const NewJob& job);

}  // namespace carillon
