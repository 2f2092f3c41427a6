// A schedule as a program asks for it, and as it stands.
#pragma once

#include <carillon/job_request.h>
#include <carillon/subject.h>
#include <carillon/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace carillon {

// Exactly one of rrule, cron, every, daily, once and after is given.
struct ScheduleRequest {
  std::string name;
  std::string tenant = "default";
  std::string type;
  std::string rrule;  // RFC 5545
  std::string cron;   // five fields, or six with seconds first
  Duration every{};   // in absolute time
  std::string daily;  // HH:MM
  std::optional<Instant> once;
  std::string after;     // the name of another schedule: fires when its occurrence is done
  std::string timezone;  // IANA name; "": the tenant's, else UTC
  std::string start;     // local, of rrule
  std::string payload = "null";
  std::string queue = "default";
  std::optional<int> priority;
  std::string overlap = "allow";   // allow, skip, queue_one, replace
  std::string misfire = "latest";  // latest, skip, all
  Duration jitter{};
  bool notifies = false;
  std::optional<RetryPolicy> retry;
  std::optional<std::uint32_t> max_attempts;
  std::optional<Duration> timeout;
  std::vector<std::string> limits;
  bool enabled = true;
};

struct ScheduleInfo {
  std::string tenant;
  std::string name;
  std::string definition;  // JSON, as documented
  std::int64_t revision = 1;
  bool enabled = true;
  std::optional<Instant> paused_until;
  std::optional<Instant> next_at;  // the next occurrence
  std::string last_outcome;        // success, cutoff_reached, …, or dlq: one was parked since; "": none yet
  std::uint32_t error_count = 0;
  std::string last_error;
  Instant created_at;
  Instant updated_at;
  bool fan_out = false;
  std::int64_t subjects = 0;         // of one with fan_out
  std::optional<SubjectInfo> state;  // of one without: where its only subject stands
  // An edit reaches its subjects in the background; how many it has come by. Nothing: all are as it says.
  std::optional<std::int64_t> replanned;
  std::vector<std::string> missing_limits;  // that its jobs name and nobody has: they run without
};

}  // namespace carillon
