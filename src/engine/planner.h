// Turns due occurrences into jobs. It holds one small entry a schedule, ordered by when it is next due, so that a round
// costs what is due and not what is known (invariant 7). What is stored decides; the entries only say where to look.
//
// Every method that takes a Round is called inside of its transaction.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/plan.h"
#include "core/schedule.h"
#include "engine/round.h"
#include "engine/rule_book.h"
#include "store/store.h"

namespace carillon {

class Planner {
 public:
  // `asked_to_stop` tells a running attempt that it is to end.
  Planner(Store& store, const RuleBook& rules, std::function<void(Round&, JobId)> asked_to_stop)
      : store_(store), rules_(rules), asked_to_stop_(std::move(asked_to_stop)) {}
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;
  ~Planner() = default;

  // Reads the next page of schedules. True when it has seen all.
  Result<bool> load(Round& round);
  void load_again() { loaded_to_ = {}; }
  // Schedules of a tenant ("": of all) that name no zone are planned anew from now on.
  void zone_changed(std::string_view tenant);

  std::optional<Instant> next_due() const;
  // Plans what is due, at most so many schedules. How many subjects it looked at.
  Result<std::uint64_t> step(Round& round, std::size_t most);

  // ---- What people ask ----
  struct Put {
    std::string_view tenant;
    std::string_view definition;
    std::optional<std::int64_t> if_revision;
  };
  Result<ScheduleRow> put(Round& round, const Put& put);
  // Without an end: until resumed. What was due before is planned first.
  Result<ScheduleRow> pause(Round& round, std::string_view tenant, std::string_view name, std::optional<Instant> until);
  // From now on: paused time has no occurrences (invariant 32).
  Result<ScheduleRow> resume(Round& round, std::string_view tenant, std::string_view name);
  Result<DeletedSchedule> remove(Round& round, std::string_view tenant, std::string_view name);
  // A job like the schedule's, made by hand.
  Result<NewJob> manual(std::string_view tenant, std::string_view name, std::optional<std::string> payload,
                        std::optional<int> priority);

  // A job of a schedule is done: what comes after it is made in the same transaction (invariants 30, 31).
  Result<void> parent_done(Round& round, const LeasedJob& parent);

  // Jobs of a paused or disabled schedule wait here, in memory, until it goes on.
  void hold(const HeldJob& held);
  // Those of schedules that go on now.
  std::vector<ReadyJob> take_released(Round& round);
  bool has_released() const { return !released_.empty(); }

 private:
  struct Compiled {
    Schedule schedule;
    std::optional<Timetable> timetable;  // not of `after`
  };
  struct Entry {
    std::string tenant;
    std::string name;
    std::optional<Instant> wake_at;  // when something is due, or a pause ends
    std::string after;               // the schedule that it follows
  };
  struct Cached {
    std::uint64_t print = 0;  // of what it was made from
    JobDefaults defaults;     // of its job
    std::shared_ptr<const Compiled> compiled;
  };

  Result<std::shared_ptr<const Compiled>> compile(const ScheduleRow& row);
  Result<std::uint64_t> plan_schedule(Round& round, const ScheduleRow& row);
  Result<std::optional<Instant>> plan_subject_row(Round& round, const ScheduleRow& row, const Compiled& compiled,
                                                  const SubjectRow& subject);
  Result<void> advance_one_by_one(Round& round, const ScheduleRow& row, Advance whole);
  void note_advanced(Round& round, const ScheduleRow& row, const Advanced& advanced);
  Result<void> plan_what_is_due(Round& round, const ScheduleRow& row);
  Result<void> check_after(std::string_view tenant, const Schedule& schedule);
  Result<std::optional<Instant>> anchor_subject(const ScheduleRow& row, const Compiled& compiled, Instant from);
  Result<void> rezone(Round& round);
  // The memory follows, after the commit.
  void remember(Round& round, const ScheduleRow& row, std::optional<Instant> next_at, std::string after);
  void remember_stored(Round& round, const ScheduleRow& row, const Compiled& compiled);
  void forget(Round& round, ScheduleId id);
  void set_entry(ScheduleId id, Entry entry);
  void erase_entry(ScheduleId id);

  Store& store_;
  const RuleBook& rules_;
  const std::function<void(Round&, JobId)> asked_to_stop_;
  ScheduleId loaded_to_;
  std::map<ScheduleId, Entry> entries_;
  std::set<std::pair<Instant, ScheduleId>> due_;
  std::map<std::pair<std::string, std::string>, std::set<ScheduleId>> followers_;  // by tenant and name
  std::map<ScheduleId, Cached> compiled_;
  std::map<ScheduleId, std::vector<ReadyJob>> held_;
  std::vector<ReadyJob> released_;
  std::set<ScheduleId> rezone_;
};

}  // namespace carillon
