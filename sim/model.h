// The judge's own copy of what is stored, kept from the writes that it witnessed, and what the handlers said.
#pragma once

#include <carillon/outcome.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/spec.h"
#include "store/rows.h"

namespace carillon::sim {

struct LeaseModel {
  std::int64_t token = 0;
  std::uint32_t attempt = 1;
  BootTime claimed{};
  Instant claimed_at;
  BootTime until{};    // by the judge's own reckoning
  BootTime started{};  // zero: the handler was not entered
  Duration length{};
  BootTime timeout_at{};  // once a renewal after the start has set it
  bool ahead = false;     // as it is stored: claimed ahead of a free slot, and not known to have begun
  BootTime stored_until{};
};

struct LaneRules;  // rules.h

struct LiveJob {
  JobRow row;
  const JobSpec* spec = nullptr;
  const LaneRules* rules = nullptr;
  std::string tenant;
  std::string queue;
  std::string type;
  std::optional<LeaseModel> lease;
  bool cancel_requested = false;
  std::uint32_t losses = 0;
  bool lost_ahead = false;  // one of these losses cost no attempt
  std::uint32_t releases = 0;
  std::uint32_t rate_limits = 0;
  std::set<JobId> waits_for;
  bool was_parked = false;     // an operator took it out of the DLQ
  BootTime startable_since{};  // zero: it was not, when last looked at
  bool is_gated = false;       // it was due before a closed gate, and that has not been seen open since
  BootTime known_since{};
};

// What a runner handed back at the end of an attempt.
struct Word {
  enum class How : std::uint8_t { returned, not_started, gated, held };
  How how = How::returned;
  Outcome::Kind kind = Outcome::Kind::done;
  std::optional<RunAt> again;
  std::string limit;
  std::vector<std::string> follow_ups;  // their payloads
  std::optional<Instant> expected_at;   // of the job's subject
  std::optional<std::string> status;
  Instant said_at;
  BootTime said_boot{};
};

struct KeyHolder {
  JobId job;
  const JobSpec* spec = nullptr;
  std::optional<Instant> until;
};

using AttemptKey = std::pair<JobId, std::int64_t>;

// Neither paused nor disabled.
inline bool runs(const ScheduleRow& row, Instant now) {
  return row.enabled && !row.deleted_at && (!row.paused_until || *row.paused_until <= now);
}

struct ArchivedJob {
  JobState state = JobState::done;
  LaneId lane;
};

struct Model {
  std::map<JobId, LiveJob> live;
  std::unordered_map<JobId, ArchivedJob> archive;
  std::map<LaneId, Lane> lanes;
  std::map<OutcomeKey, OutcomeRow> outcomes;
  std::map<AttemptKey, Word> words;
  std::map<std::tuple<std::string, std::string, std::string>, KeyHolder> keys;  // by tenant, type and key
  JobId highest;
};

// An occurrence that ended without a job, and where it is counted. (invariant 34)
struct CountedSlot {
  ScheduleId schedule;
  std::int64_t local_minute = 0;
  JobState outcome = JobState::missed;
};

}  // namespace carillon::sim
