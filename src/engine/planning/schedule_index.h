// One small entry a schedule, ordered by when its first subject is next due, so that a round costs what is due and not
// what is known (invariant 7). What is stored decides; the entries only say where to look.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/planning/held_jobs.h"
#include "engine/planning/replans.h"
#include "engine/planning/schedule_compiler.h"
#include "engine/planning/subject_planner.h"
#include "engine/round/round.h"
#include "engine/telling/open_days.h"
#include "store/store.h"

namespace carillon {

class ScheduleIndex {
 public:
  ScheduleIndex(Store& store, ScheduleCompiler& compiler, HeldJobs& held, Replans& replans, OpenDays& open_days)
      : store_(store), compiler_(compiler), held_(held), replans_(replans), open_days_(open_days) {}
  ScheduleIndex(const ScheduleIndex&) = delete;
  ScheduleIndex& operator=(const ScheduleIndex&) = delete;
  ~ScheduleIndex() = default;

  // Reads the next page of schedules that follow others. True when it has seen all.
  Result<bool> load_followers(Round& round);
  // The same of all schedules.
  Result<bool> load(Round& round);
  // The memory may have missed a change: all of that once more.
  void load_again();

  std::optional<Instant> next_due() const;
  // Those that are due, the first one first.
  const std::set<std::pair<Instant, ScheduleId>>& due() const { return due_; }
  bool is_due(ScheduleId id, Instant now) const;
  // Of one tenant; "": all.
  std::vector<ScheduleId> ids_of(std::string_view tenant) const;
  // Those that follow it, if any do.
  const std::set<ScheduleId>* followers_of(std::string_view tenant, std::string_view name) const;

  // What is known of a kind without looking at the definition again.
  struct Traits {
    bool is_delivery = false;
    bool by_subject = false;
    bool follows_outcomes = false;
  };
  Traits known_traits(ScheduleId id);
  bool is_delivery(ScheduleId id) { return known_traits(id).is_delivery; }
  // The next schedule by id whose subjects are planned each on its own terms, among some hundreds.
  struct SweepNext {
    std::optional<ScheduleId> found;
    ScheduleId looked_to;
    bool end = false;  // there is none, among all that are behind
  };
  SweepNext next_by_subject(ScheduleId after);

  // ---- The memory follows, after the commit ----
  // Wakes when its first subject is due.
  Result<void> remember(Round& round, const ScheduleRow& row);
  void remember(Round& round, const ScheduleRow& row, std::optional<Instant> next_at);
  void forget_traits(Round& round, ScheduleId id);
  // Its open days are counted from the next round on, if it delivers.
  void count_open_days(Round& round, const ScheduleRow& row);
  void forget(Round& round, ScheduleId id);
  // At once: it is looked at by then, whatever was said before.
  void wake_by(ScheduleId id, Instant when);

 private:
  struct Entry {
    std::string tenant;
    std::string name;
    std::optional<Instant> wake_at;  // when something is due, or a pause ends
    std::string after;               // the schedule that it follows
    std::optional<Traits> traits;    // nothing: nobody has asked yet
  };
  void set_entry(ScheduleId id, Entry entry);
  void erase_entry(ScheduleId id);

  Store& store_;
  ScheduleCompiler& compiler_;
  HeldJobs& held_;
  Replans& replans_;
  OpenDays& open_days_;
  ScheduleId followers_to_;
  ScheduleId loaded_to_;
  std::map<ScheduleId, Entry> entries_;
  std::set<std::pair<Instant, ScheduleId>> due_;
  std::map<std::pair<std::string, std::string>, std::set<ScheduleId>> followers_;  // by tenant and name
};

}  // namespace carillon
