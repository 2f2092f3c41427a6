// One subject after the other: fetches what is known of it, asks the pure plan of its kind (core/plan.h), and writes
// what that says. What is due, and in which order, DuePlanner knows.
//
// Every method that takes a Round is called inside of its transaction.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "core/schedules/plan.h"
#include "engine/planning/overrides_memo.h"
#include "engine/planning/schedule_compiler.h"
#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

// Neither paused nor disabled.
bool runs_at(const ScheduleRow& row, Instant now);
// What was asked for cannot be; the store is well.
bool is_refusal(const Error& error);

// Jobs were moved, or cancelled, by what a call asked of their schedule.
void note_moved(Round& round, const std::vector<Changed>& moved);

// A schedule as it decides about its subjects.
struct Ruling {
  // NOLINTBEGIN(cppcoreguidelines-avoid-const-or-ref-data-members): lives as long as one call
  const ScheduleRow& row;
  const CompiledSchedule& compiled;
  // NOLINTEND(cppcoreguidelines-avoid-const-or-ref-data-members)
};

class SubjectPlanner {
 public:
  // `asked_to_stop` tells a running attempt that it is to end.
  SubjectPlanner(Store& store, std::function<void(Round&, JobId)> asked_to_stop)
      : store_(store), asked_to_stop_(std::move(asked_to_stop)) {}
  SubjectPlanner(const SubjectPlanner&) = delete;
  SubjectPlanner& operator=(const SubjectPlanner&) = delete;
  ~SubjectPlanner() = default;

  // Those that are due at `now` become jobs and outcomes, and their next times move on.
  // Goes as far as fits into one round. One that cannot be planned is set aside: it holds up nobody else.
  // How many that are.
  Result<std::size_t> plan_all(Round& round, const Ruling& ruling, std::span<const SubjectRow> subjects, Instant now);
  // One of them.
  Result<void> plan(Round& round, const Ruling& ruling, const SubjectRow& subject, Instant now);
  // It was made or changed: where its planning begins, or goes on.
  Result<void> anchor(Round& round, const Ruling& ruling, const SubjectRow& subject, const SubjectChange& change);
  // The same of a schedule that is its only subject: that is made first, if it is new. An earlier life of the schedule
  // may have left a position (invariant 1).
  Result<void> anchor_only(Round& round, const Ruling& ruling, const SubjectChange& change);
  // The same where nobody is there to read a refusal: then it has no next time, and says why.
  Result<void> anchor_or_set_aside(Round& round, const Ruling& ruling, const SubjectRow& subject,
                                   const SubjectChange& change);
  // An occurrence more, now, that its kind did not plan: the check of a subject that somebody asked for. `behind` is
  // one that runs: then it waits for that one's end, however it ends, and there is still one at a time.
  Result<Enqueued> check_now(Round& round, const Ruling& ruling, const SubjectRow& subject, JobId behind,
                             const std::function<void(NewJob&)>& change);

  // What plans are made from, and what they lean on.
  struct Facts {
    std::unique_ptr<Timetable> own;  // of a subject with a zone or a start of its own
    PlanFacts plan;
    std::string cadence;  // as it is stored
  };
  Result<Facts> facts_of(const Ruling& ruling, const SubjectRow& subject, Instant now);
  // The same for a subject that nothing is stored of.
  Result<Facts> bare_facts(const Ruling& ruling, const SubjectRow& subject, Instant now);
  Result<Facts> bare_facts(const Ruling& ruling, const SubjectRow& subject, SubjectOverrides overrides,
                           Instant now) const;

  // A job of no occurrence, in the round's transaction.
  Result<Enqueued> enqueue(Round& round, const NewJob& job);
  void note_advanced(Round& round, const ScheduleRow& row, std::span<const NewJob> asked, const Advanced& advanced);

 private:
  // What is to be written of one that is due, if anything is.
  Result<std::optional<Advance>> advance_of_due(Round& round, const Ruling& ruling, const SubjectRow& subject,
                                                Instant now);
  Result<std::optional<Advance>> advance_of_occurrence(const Ruling& ruling, const SubjectRow& subject, Instant now);
  Result<void> set_aside(const SubjectRow& subject, const Error& why);
  // How many of them made a job.
  Result<void> write(Round& round, const ScheduleRow& row, std::span<Advance> advances);
  Result<void> advance_one_by_one(Round& round, const ScheduleRow& row, Advance whole);

  Store& store_;
  const std::function<void(Round&, JobId)> asked_to_stop_;
  OverridesMemo overrides_;
};

}  // namespace carillon
