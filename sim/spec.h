// What the simulation asked for, as its own specifications: the judge reads these, never what the engine made of them.
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

#include "core/time/instant.h"

namespace carillon::sim {

struct JobSpec {
  std::string payload;
  std::string tenant;
  std::string queue = "default";
  std::string type;
  std::optional<RetryPolicy> retry;
  std::optional<std::uint32_t> max_attempts = kMaxAttemptsDefault;
  // One that is not retried has one, whatever it says.
  std::optional<std::uint32_t> attempts() const {
    return retry && std::holds_alternative<RetryNone>(*retry) ? 1U : max_attempts;
  }
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
  // How its handler behaves.
  int failures = 0;     // of hundred attempts, besides those of all
  Duration at_most{};   // it may take so long; zero: as others
  bool learns = false;  // it says when its subject is expected
};

enum class Kind : std::uint8_t { every, daily, weekly, cron, rrule, after, delivery, windows, adaptive };
inline bool is_by_subject(Kind kind) {
  return kind == Kind::delivery || kind == Kind::windows || kind == Kind::adaptive;
}
enum class Misfire : std::uint8_t { latest, skip, all };
enum class Overlap : std::uint8_t { allow, skip, queue_one, replace };

// How far apart checks are while the expected time is within so much.
struct Band {
  Duration within{};
  Duration least{};
  Duration most{};
};

struct ScheduleSpec {
  int number = 0;
  Kind kind = Kind::every;
  bool enabled = true;
  bool fan_out = false;
  bool spread = false;  // of deliveries
  std::string tenant;
  std::string name;
  Duration every{};
  std::optional<Instant> anchor;
  Duration at{};               // of daily, weekly and deliveries: the local time
  std::vector<unsigned> days;  // of weekly: 0 is Sunday
  std::string text;            // of cron and rrule
  int count = 0;               // of an rrule that says so: how many run
  std::string after;
  std::string zone = "UTC";
  // An rrule whose phase is that of the creation.
  bool is_from_creation() const { return kind == Kind::rrule && text.starts_with("FREQ=HOURLY;INTERVAL=5"); }
  Misfire misfire = Misfire::latest;
  Overlap overlap = Overlap::allow;
  int misfire_max = 6;
  Duration grace = std::chrono::seconds(60);
  Duration jitter{};
  const JobSpec* job = nullptr;

  // Of deliveries.
  Duration window{};
  Duration retry_delay{};
  const JobSpec* by_hand = nullptr;  // run outside a window
  const JobSpec* on_cutoff = nullptr;
  // Of windows.
  Duration interval{};
  Duration lag{};
  std::size_t max_backfill = 6;
  std::optional<Duration> max_age;
  std::string mode;
  // Of checks: from the nearest on; the last one is what else holds.
  std::vector<Band> bands;
};

// Where a subject differs from its schedule. Its number is in its payload, {"u":9}, and so in those of its
// jobs: a change of a subject is its own specification.
struct SubjectSpec {
  int number = 0;
  bool enabled = true;
  std::optional<Duration> at;
  std::optional<std::string> zone;
  std::optional<Duration> interval;
  std::optional<std::string> mode;
  std::optional<std::optional<Instant>> expected_at;  // said with this change
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
  // Jobs of subjects carry more than what was specified: whose they are, and which window. One that belongs to no
  // occurrence may be another kind of job.
  const JobSpec* job(std::string_view payload, bool has_slot) const {
    const auto found = by_payload_.find(std::string(payload));
    if (found != by_payload_.end()) return found->second;
    if (const ScheduleSpec* const spec = numbered(schedules_, "{\"s\":", payload)) {
      return has_slot || !spec->by_hand ? spec->job : spec->by_hand;
    }
    const ScheduleSpec* const spec = numbered(schedules_, "{\"c\":", payload);
    return spec ? spec->on_cutoff : nullptr;
  }
  ScheduleSpec& add_schedule() {
    ScheduleSpec& spec = schedules_.emplace_back();
    spec.number = static_cast<int>(schedules_.size());
    return spec;
  }
  // The one whose number is in the payload of this definition, or job.
  const ScheduleSpec* schedule(std::string_view text) const { return numbered(schedules_, "{\"s\":", text); }
  // The one that what follows at a cutoff is of.
  const ScheduleSpec* at_cutoff(std::string_view payload) const { return numbered(schedules_, "{\"c\":", payload); }
  SubjectSpec& add_subject() {
    SubjectSpec& spec = subjects_.emplace_back();
    spec.number = static_cast<int>(subjects_.size());
    return spec;
  }
  const SubjectSpec* subject(std::string_view overrides) const { return numbered(subjects_, "\"u\":", overrides); }

 private:
  template <typename T>
  static const T* numbered(const std::deque<T>& all, std::string_view mark, std::string_view text);

  std::deque<JobSpec> jobs_;
  std::deque<ScheduleSpec> schedules_;
  std::deque<SubjectSpec> subjects_;
  std::unordered_map<std::string, const JobSpec*> by_payload_;
};

template <typename T>
const T* Specs::numbered(const std::deque<T>& all, std::string_view mark, std::string_view text) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return nullptr;
  std::size_t number = 0;
  for (std::size_t i = at + mark.size(); i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    number = number * 10 + static_cast<std::size_t>(text[i] - '0');
  }
  return number == 0 || number > all.size() ? nullptr : &all[number - 1];
}

}  // namespace carillon::sim
