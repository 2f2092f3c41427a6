// What can be said about a job besides its type, payload and time. All of it has a default.
//
//   JobOptions options{.max_attempts = 3, .timeout = std::chrono::minutes(1), .idempotency_key = "event-1"};
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/job_id.h"
#include "carillon/retry.h"
#include "carillon/time.h"

namespace carillon {

// What caused a job.
enum class Origin : std::uint8_t { api, scheduled, manual, dependent };

// As in SQL, JSON and the docs.
std::string_view to_string(Origin origin);

// What a crash between an effect and its record means, where the effect cannot be asked. (invariant 18)
enum class OnAmbiguous : std::uint8_t { retry, hold };

// How a slot reads: that of a delivery is a day, every other one an instant.
enum class SlotKind : std::uint8_t { instant, day };

// The occurrence that a job tells of without being it: that of a run by hand, of a backfilled window, of what follows a
// missed cutoff. For reading alone; it counts for no occurrence, overlap, cursor, open job or `after`. (invariant 1)
struct BesideOccurrence {
  std::string schedule;
  std::optional<Instant> slot;  // nothing: it was for none in particular
  SlotKind slot_kind = SlotKind::instant;
  friend bool operator==(const BesideOccurrence&, const BesideOccurrence&) = default;
};

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

// What most jobs leave as it is.
struct JobOptions {
  std::optional<RetryPolicy> retry;                                 // nothing: RetryTable
  std::optional<std::uint32_t> max_attempts = kMaxAttemptsDefault;  // nothing: only the deadline ends it
  Duration timeout = kTimeoutDefault;
  Duration lease = kLeaseDefault;
  std::vector<std::string> limits;
  bool notifies = false;
  bool run_anyway = false;  // also if a job that it depends on does not end as done
  bool yields = false;      // to the next occurrence: no attempt is made again that would not come before it
  OnAmbiguous on_ambiguous = OnAmbiguous::retry;
  std::vector<std::string> tags;
  std::string meta;        // a JSON object, or nothing
  std::string created_by;  // key:ID of the API key, or what a program says
  Origin origin = Origin::api;
  JobId parent;
  std::optional<std::string> idempotency_key;  // an empty one is refused
  KeyHold unique_until;
  std::string key;                         // readable name of an occurrence, of windows
  std::optional<BesideOccurrence> beside;  // of one that is no occurrence itself
  std::string label;                       // the subject that it shows, if that of its occurrence is another
  friend bool operator==(const JobOptions&, const JobOptions&) = default;
};

}  // namespace carillon
