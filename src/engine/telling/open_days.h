// How many deliveries are in their window: their day has begun and has no outcome yet. (S0's eligible_in_window)
//
// The store keeps the counts of open days with every occurrence. They are read once a schedule and moved by what rounds
// open and close from then on, so that telling the number costs nothing (invariant 7).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "core/time/instant.h"
#include "store/plan_store.h"
#include "store/rows.h"

namespace carillon {

// Local days of schedules that a round has opened (above 0) or closed (below).
using OpenDayChanges = std::map<std::pair<ScheduleId, std::int64_t>, std::int64_t>;

class OpenDays {
 public:
  OpenDays() = default;
  OpenDays(const OpenDays&) = delete;
  OpenDays& operator=(const OpenDays&) = delete;
  ~OpenDays() = default;

  // It delivers, or does so no more.
  void look_up_later(ScheduleId schedule);
  void forget(ScheduleId schedule);
  void forget_all();
  // Reads what was asked for, some of it at a time. Before the round's transaction writes anything: it must see what
  // was committed, which is what this holds, whatever becomes of the round.
  Result<void> look_up(PlanStore& plans, Instant now);

  // What was committed.
  void apply(const OpenDayChanges& changes);
  // With what a round has changed so far.
  std::uint64_t count_with(const OpenDayChanges& changes) const;

 private:
  struct Known {
    std::int64_t first_day = 0;  // days before it were over when it was looked up, whatever their jobs said
    std::int64_t open = 0;
  };
  std::int64_t change_of(const OpenDayChanges& changes) const;

  std::map<ScheduleId, Known> known_;
  std::set<ScheduleId> asked_;
  std::int64_t open_ = 0;  // of all that is known
};

}  // namespace carillon
