// What happened to a job so far, besides what stands in columns of its row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/jobs/job_id.h"
#include "core/time/instant.h"

namespace carillon {

struct LastError {
  std::string code;
  std::string message;
  std::string error_class;
  friend bool operator==(const LastError&, const LastError&) = default;
};

// A job that was put back by a gate.
struct DeferralRecord {
  Instant at;
  std::optional<Instant> until;
  std::string reason;
  friend bool operator==(const DeferralRecord&, const DeferralRecord&) = default;
};

// What became of one of a completion's follow-ups.
struct KeptFollowUp {
  enum class Kind : std::uint8_t { made, deduplicated, conflict };
  JobId job;  // of a conflict: that holds the key
  Kind kind = Kind::made;
  friend bool operator==(const KeptFollowUp&, const KeptFollowUp&) = default;
};

inline constexpr std::size_t kDeferralsKept = 20;

struct JobDetail {
  // In a row, of the attempts before the next one.
  std::uint32_t losses = 0;
  bool lost_ahead = false;  // one of these losses cost no attempt
  std::uint32_t releases = 0;
  std::uint32_t rate_limits = 0;
  std::string reason;  // why it is in its state
  std::optional<LastError> last_error;
  std::uint32_t deferrals = 0;
  std::optional<Instant> deferred_until;
  std::string defer_reason;
  std::vector<DeferralRecord> recent_deferrals;  // the last 20, oldest first
  bool cancel_requested = false;
  std::string progress;  // JSON
  std::string output;    // JSON
  std::string stderr_text;
  std::optional<Instant> last_seen_at;
  std::string last_end;                 // how the last attempt ended: an attempt result, or "deferred"
  std::vector<std::string> added_keys;  // beside its own
  std::vector<JobId> depends_on;        // all that it was to wait for, also when they have ended
  std::int64_t said = 0;                // in the last attempt's end: Settlement::said
  std::vector<KeptFollowUp> then;       // what became of them, where they may be asked for again
  // An operator has said that effects in doubt are to be run: those that its attempts up to this one have met, and
  // those that were taken over by other jobs before then. (invariant 18)
  std::int64_t lifted_token = 0;
  std::optional<Instant> lifted_at;
  bool retried = false;  // by an operator: its attempts are counted anew, and none of them is the first
  friend bool operator==(const JobDetail&, const JobDetail&) = default;
};

}  // namespace carillon
