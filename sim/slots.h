// Which occurrences there must be: the judge plans every schedule without subjects for itself and compares, transaction
// by transaction. (Of those with subjects it knows only their rows: see subjects.h.)
//
// For each schedule it knows the next slot that is due. Whatever a transaction writes for that schedule must cover
// every slot from there up to now, each exactly once, as the misfire policy says, and nothing else. (invariants 1, 3,
// 19, 24, 25, 32)
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/triggers/timetable.h"
#include "sim/model.h"
#include "sim/verdict.h"
#include "store/rows.h"

namespace carillon::sim {

class Slots {
 public:
  Slots(const Specs& specs, Findings& findings) : specs_(specs), findings_(findings) {}
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  ~Slots() = default;

  // ---- Within a transaction, in order ----
  void put_schedule(const ScheduleRow& row);
  void put_subject(const SubjectRow& row);
  void erase_schedule(ScheduleId id) { schedules_.erase(id); }
  // Retention is over: nothing guards its slots any more. (invariant 1)
  void erase_subject(ScheduleId id);
  void insert_job(const JobRow& row);
  void close(const OutcomeRow& row);
  void job_done(const LiveJob& job);
  void end_of_transaction(Instant now, const Model& model);

  // It was about to be made when its transaction failed: made again, it must be the same. (jitter)
  void note_undone(const JobRow& row);

  // The first slot that is due and not planned; nothing later than `now` may be left after a round.
  std::optional<std::pair<Instant, std::string>> overdue(Instant now) const;
  bool is_running(ScheduleId id, Instant now) const;
  const ScheduleRow* row(ScheduleId id) const;
  std::vector<const ScheduleRow*> rows() const;
  // Occurrences of the last transaction that ended without a job.
  std::vector<CountedSlot> take_counted() { return std::exchange(counted_, {}); }

 private:
  struct Entry {
    ScheduleRow row;
    const ScheduleSpec* spec = nullptr;
    std::optional<Timetable> timetable;  // of the kinds that the judge does not work out itself
    std::optional<Instant> next;
    std::optional<Instant> position;
    std::optional<Instant> stored_next;
  };
  struct Touched {
    bool is_put = false;
    std::optional<Entry> before;
    bool subject_put = false;
    std::vector<Instant> jobs;
    std::vector<OutcomeRow> closed;
  };

  std::optional<Instant> slot_after(const Entry& entry, Instant after) const;
  std::optional<Instant> first_slot(const Entry& entry, Instant now) const;
  std::int64_t counted_at(const Entry& entry, Instant slot) const;
  void judge_times(Entry& entry, Touched& touched, Instant now, const Model& model);
  void judge_cover(const Entry& before, const Touched& touched, const std::vector<Instant>& due, Instant now,
                   const Model& model);
  void judge_followers(Instant now);
  void set_next(ScheduleId id, Entry& entry, std::optional<Instant> next);
  Touched& touch(ScheduleId id);

  const Specs& specs_;
  Findings& findings_;
  std::map<ScheduleId, Entry> schedules_;
  std::set<std::pair<Instant, ScheduleId>> due_;
  std::map<ScheduleId, Touched> touched_;
  std::vector<std::pair<ScheduleId, Instant>> done_;          // in this transaction
  std::vector<CountedSlot> counted_;                          // in this transaction
  std::set<std::pair<ScheduleId, Instant>> made_;             // occurrences that ever became a job
  std::map<std::pair<ScheduleId, Instant>, Instant> undone_;  // with the time at which they would have run
};

}  // namespace carillon::sim
