// All that keeps a job from starting, in the order in which explain tells it. (invariant 33)
//
// The one that binds stands last: the one that will hold it longest as far as that is known. First what ends when
// others move (a worker comes, an attempt ends), then what time alone ends, by that time, then what stays until
// somebody lifts it.
#pragma once

#include <carillon/job_info.h>

#include <optional>
#include <string>
#include <vector>

#include "core/time/instant.h"
#include "engine/ready/ready_set.h"
#include "engine/upkeep/rule_book.h"
#include "store/rows.h"

namespace carillon {

struct Hold {
  enum class Ends : std::uint8_t { when_others_move, in_time, when_lifted };
  std::string why;   // a word of explain
  std::string text;  // for a person
  std::string of{};  // what is paused or disabled: queue, tenant, schedule, subject, engine
  Ends ends = Ends::when_lifted;
  std::optional<Instant> until{};  // of in_time
};

// What a node knows of the place of a job.
struct PlaceHolds {
  bool is_served = true;    // by a handler of this node
  bool has_worker = false;  // one outside takes such jobs
  bool queue_is_paused = false;
  std::vector<ReadySet::Held> held_by;  // caps and limits
  std::optional<Instant> released_at;   // it is one of many that a gate held: its turn, now that it is open
};

// Paused or disabled, and until when.
std::optional<Hold> standstill_of(const ScheduleRow& row, Instant now);

struct HoldFacts {
  RuleBook::Held rules;
  PlaceHolds place;
  std::optional<ScheduleRow> schedule;  // that made it
  bool subject_is_disabled = false;
  Instant now;
};
// Of a job that is queued or waiting.
std::vector<Hold> holds_of(const JobInfo& job, const HoldFacts& facts);

}  // namespace carillon
