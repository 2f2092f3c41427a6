// What the simulation asked for, in its own words: the judge reads these, never what the engine made of them.
//
// Every job carries the number of its specification in its payload, {"n":17} or, of a schedule, {"s":4}: so the judge
// knows whose row it sees.
#pragma once

#include <carillon/job.h>
#include <carillon/retry.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/instant.h"

namespace carillon::sim {

struct JobSpec {
  std::string payload;
  std::string tenant;
  std::string queue = "default";
  std::string type;
  std::optional<RetryPolicy> retry;
  std::optional<std::uint32_t> max_attempts = kMaxAttemptsDefault;
  Duration timeout = kTimeoutDefault;
  Duration lease = kLeaseDefault;
  std::vector<std::string> limits;
  bool notifies = false;
  bool run_anyway = false;
  OnAmbiguous on_ambiguous = OnAmbiguous::retry;
  std::optional<Instant> deadline;
  std::string key;
  KeyHold hold;
  std::optional<JobId> follows;  // a follow-up of this job's completion
};

enum class Kind : std::uint8_t { every, daily, weekly, cron, rrule, after };
enum class Misfire : std::uint8_t { latest, skip, all };
enum class Overlap : std::uint8_t { allow, skip, queue_one, replace };

struct ScheduleSpec {
  int number = 0;
  std::string tenant;
  std::string name;
  Kind kind = Kind::every;
  Duration every{};
  std::optional<Instant> anchor;
  Duration at{};               // of daily and weekly: the local time
  std::vector<unsigned> days;  // of weekly: 0 is Sunday
  std::string text;            // of cron and rrule
  std::string after;
  std::string zone = "UTC";
  Misfire misfire = Misfire::latest;
  int misfire_max = 6;
  Duration grace = std::chrono::seconds(60);
  Overlap overlap = Overlap::allow;
  Duration jitter{};
  bool enabled = true;
  const JobSpec* job = nullptr;
};

// All that was ever asked for. Addresses stay.
class Specs {
 public:
  JobSpec& add_job() {
    JobSpec& spec = jobs_.emplace_back();
    spec.payload = "{\"n\":" + std::to_string(jobs_.size()) + "}";
    return spec;
  }
  // Once its payload is final.
  void index(const JobSpec& spec) { by_payload_[spec.payload] = &spec; }
  const JobSpec* job(std::string_view payload) const {
    const auto found = by_payload_.find(std::string(payload));
    return found == by_payload_.end() ? nullptr : found->second;
  }
  ScheduleSpec& add_schedule() {
    ScheduleSpec& spec = schedules_.emplace_back();
    spec.number = static_cast<int>(schedules_.size());
    return spec;
  }
  // The one whose number stands in the payload of this definition.
  const ScheduleSpec* schedule(std::string_view definition) const;

 private:
  std::deque<JobSpec> jobs_;
  std::deque<ScheduleSpec> schedules_;
  std::unordered_map<std::string, const JobSpec*> by_payload_;
};

inline const ScheduleSpec* Specs::schedule(std::string_view definition) const {
  const auto at = definition.find("{\"s\":");
  if (at == std::string_view::npos) return nullptr;
  std::size_t number = 0;
  for (std::size_t i = at + 5; i < definition.size() && definition[i] >= '0' && definition[i] <= '9'; ++i) {
    number = number * 10 + static_cast<std::size_t>(definition[i] - '0');
  }
  return number == 0 || number > schedules_.size() ? nullptr : &schedules_[number - 1];
}

}  // namespace carillon::sim
