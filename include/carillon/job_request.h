// A job as a program asks for it. Whatever is left out has the default that the documentation names.
//
//   client.enqueue({.type = "mail.send", .payload = R"({"to":"ada"})", .run_at = carillon::in(5min)});
#pragma once

#include <carillon/job.h>
#include <carillon/job_id.h>
#include <carillon/retry.h>
#include <carillon/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace carillon {

// When: at an instant, after a delay counted by the store's clock, or at once.
struct RunAt {
  std::optional<Instant> at;
  Duration delay{};

  RunAt() = default;
  RunAt(Instant instant) : at(instant) {}  // NOLINT(google-explicit-constructor): an instant is a time to run at
};

inline RunAt in(Duration delay) {
  RunAt when;
  when.delay = delay;
  return when;
}

struct JobRequest {
  std::string type;
  std::string tenant = "default";
  std::string queue = "default";
  std::string payload = "null";  // JSON, kept byte for byte
  std::optional<int> priority;   // 1 (first) to 5; 3 unless told otherwise
  RunAt run_at;
  std::optional<Instant> deadline;  // not final by then: cutoff_reached
  // The same tenant, type and key give the same job; nothing: none. An empty one is refused.
  std::optional<std::string> idempotency_key;
  KeyHold unique_until;
  // What is not said is as the engine's options and configuration have it: 5 attempts, 5 minutes, 60 seconds.
  std::optional<RetryPolicy> retry;
  std::optional<std::uint32_t> max_attempts = 0;  // 0: not said; nothing: only the deadline ends it
  std::optional<Duration> timeout;
  std::optional<Duration> lease;
  std::vector<std::string> limits;
  bool notifies = false;  // quiet hours hold it
  OnAmbiguous on_ambiguous = OnAmbiguous::retry;
  std::vector<JobId> depends_on;
  bool run_anyway = false;  // also if one that it depends on does not end as done
  std::string subject;
  std::vector<std::string> tags;
  std::string meta;  // a JSON object, or nothing
  std::string created_by;
};

}  // namespace carillon
