// The schedules that a call over many rows meets: most rows have the same one.
#pragma once

#include "store/cases/context.h"

namespace carillon {

// Of use only as long as nothing writes schedules.
class Owners {
 public:
  // Nothing if it is gone.
  const std::optional<ScheduleRow>& of(Context& context, ScheduleId id) {
    if (!asked_ || known_id_ != id) {
      known_ = context.tx.schedule(id);
      known_id_ = id;
      asked_ = true;
    }
    return known_;
  }

 private:
  bool asked_ = false;
  ScheduleId known_id_;
  std::optional<ScheduleRow> known_;
};

}  // namespace carillon
