// A word about an attempt that is to be written.
#pragma once

#include <optional>
#include <string>

#include "engine/attempts/finished.h"
#include "engine/attempts/settlement.h"

namespace carillon {

struct Settling {
  RunPtr run;  // nothing: a worker outside speaks of one that is over
  Settlement settlement;
  Finished::How how = Finished::How::returned;
  bool thread_is_back = true;
  bool quick = false;  // the handler took no longer than rounds do
  Outcome::Kind kind = Outcome::Kind::done;
  std::string limit;  // of rate_limited
  std::optional<Instant> limited_until;
  bool may_teach_global = false;  // a global limit, that is: else it is closed for the job's tenant
};

}  // namespace carillon
