// Windows by hand over a range, a slice at a time. It never moves a cursor.
//
// Every method is called inside of a round's transaction.
#pragma once

#include <carillon/client.h>

#include <string_view>

#include "engine/calls/bulk.h"
#include "engine/planning/schedule_compiler.h"
#include "engine/planning/subject_planner.h"
#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

class Backfill {
 public:
  Backfill(Store& store, ScheduleCompiler& compiler, SubjectPlanner& subjects)
      : store_(store), compiler_(compiler), subjects_(subjects) {}
  Backfill(const Backfill&) = delete;
  Backfill& operator=(const Backfill&) = delete;
  ~Backfill() = default;

  // How many windows a range has: of one subject, or as the schedule says if all are meant. Refused if it has no whole
  // number of them.
  Result<std::size_t> windows_in(Round& round, std::string_view tenant, std::string_view schedule,
                                 const Client::BackfillRequest& range);
  // The next windows by hand, at most so many.
  Result<BackfillStep> step(Round& round, const BulkState& state, std::size_t most);

 private:
  Store& store_;
  ScheduleCompiler& compiler_;
  SubjectPlanner& subjects_;
};

}  // namespace carillon
