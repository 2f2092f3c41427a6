// How schedules and their subjects fare, as the judge counts it: the last outcome, and how many went wrong in a row. An
// occurrence that is parked is a misfortune from the very transaction on that parks it. (invariants 3, 34)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "sim/verdict.h"
#include "store/rows.h"

namespace carillon::sim {

class Fortunes {
 public:
  explicit Fortunes(Findings& findings) : findings_(findings) {}
  Fortunes(const Fortunes&) = delete;
  Fortunes& operator=(const Fortunes&) = delete;
  ~Fortunes() = default;

  // ---- Within a transaction, in order ----
  void put_schedule(const ScheduleRow& row);
  void erase_schedule(ScheduleId id);
  void put_subject(const SubjectRow& row);
  void erase_subject(const SubjectKey& key);
  // A job has ended that had failed before.
  void ended_with_error(JobId job) { with_error_.insert(job); }
  void put_outcome(const OutcomeRow& before, const OutcomeRow& row, bool is_delivery);
  void end_of_transaction();

  // As it is stored.
  void compare(const ScheduleRow& row);

 private:
  struct Fortune {
    std::optional<JobState> last;
    std::int64_t errors = 0;
  };
  struct Subject {
    SubjectRow row;
    Fortune fortune;
    bool is_touched = false;  // something became of an occurrence of it
  };
  struct Schedule {
    std::int64_t generation = 1;
    bool is_deleted = false;
    Fortune fortune;
  };
  enum class Turn : std::uint8_t { success, misfortune, neither };

  static void note(Fortune& fortune, JobState last, Turn turn);
  Turn turn_of(const OutcomeRow& before, const OutcomeRow& row) const;

  Findings& findings_;
  std::map<ScheduleId, Schedule> schedules_;
  std::map<SubjectKey, Subject> subjects_;

  // Of the transaction under way.
  std::set<JobId> with_error_;
  std::set<SubjectKey> touched_;
};

}  // namespace carillon::sim
