// Edits of schedules that are on their way to their subjects, by schedule. See replan.h.
#pragma once

#include <map>
#include <string_view>

#include "engine/planning/replan.h"
#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

class Replans {
 public:
  explicit Replans(Store& store) : store_(store) {}
  Replans(const Replans&) = delete;
  Replans& operator=(const Replans&) = delete;
  ~Replans() = default;

  bool empty() const { return by_schedule_.empty(); }
  bool contains(ScheduleId id) const { return by_schedule_.contains(id); }
  // Nothing: none is on its way.
  Replan* find(ScheduleId id);
  Replan& first() { return by_schedule_.begin()->second; }

  // From `before` to what `row` says now. It is known at once, for what is due in this very round. After a commit that
  // failed it is in doubt: what is stored decides.
  Result<void> begin(Round& round, const ScheduleRow& row, const ScheduleRow& before);
  // One that was on its way when the engine ended.
  void resume(const Document& document);
  // After the commit: it has come further, unless another edit has begun since.
  void advance(ScheduleId id, Replan further);
  void erase(ScheduleId id) { by_schedule_.erase(id); }
  // Inside of a transaction, before anything asks.
  Result<void> settle_doubts();

  // Whether the subject was written by the new rules while the edit has not come to it: what is due of it must not be
  // taken for what was due before the edit. Then this is the first time that is not; nothing: it is as it should be.
  std::optional<Instant> first_time_behind_edit(const SubjectRow& subject) const;

 private:
  Store& store_;
  std::map<ScheduleId, Replan> by_schedule_;
  std::map<ScheduleId, DocumentKey> doubts_;
};

}  // namespace carillon
