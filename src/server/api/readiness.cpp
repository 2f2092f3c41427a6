#include "server/api/readiness.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/time/duration.h"
#include "engine/commands/operations.h"

namespace carillon::server {

namespace {

std::string check_json(const std::optional<std::string>& wrong, const JsonObject& more = {}) {
  JsonObject check;
  check.boolean("ok", !wrong).raw("message", wrong ? json_string(*wrong) : "null");
  if (more.empty()) return check.str();
  std::string whole = check.str();
  whole.back() = ',';
  return whole + more.str().substr(1);
}

std::string duration_json(std::optional<Duration> duration) {
  return duration ? json_string(format_duration(*duration)) : "null";
}

}  // namespace

std::string Readiness::message() const {
  for (const auto* const wrong : {&planner, &store, &lag}) {
    if (*wrong) return **wrong;
  }
  return "ready";
}

std::string checks_json(const Readiness& readiness) {
  JsonObject planner;
  planner.raw("last_commit", duration_json(readiness.last_commit));
  JsonObject lag;
  lag.raw("planner", duration_json(readiness.planner_lag)).raw("oldest_due", duration_json(readiness.oldest_due));
  JsonObject checks;
  checks.raw("store", check_json(readiness.store)).raw("planner", check_json(readiness.planner, planner));
  checks.raw("lag", check_json(readiness.lag, lag));
  return checks.str();
}

Readiness ReadinessCheck::look() {
  const std::scoped_lock lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (!looked_at_ || now - *looked_at_ >= options_.fresh) {
    last_ = try_it();
    looked_at_ = std::chrono::steady_clock::now();
  }
  return last_;
}

Readiness ReadinessCheck::try_it() {
  const auto answer = host_.commands().ask_within(command::Probe{}, options_.patience);
  Readiness found{.last_commit = host_.queries().since_commit()};
  if (!answer) {
    const auto last = found.last_commit;
    found.planner =
        fmt::format("the engine has not answered for {}; its last commit was {}", format_duration(options_.patience),
                    last ? format_duration(*last) + " ago" : std::string("never"));
    found.store = "not known, as the engine does not answer";
    return found;
  }
  if (!*answer) {
    found.store = fmt::format("the store does not take writes: {}", answer->error().message);
    return found;
  }
  const command::Probe::Answer& well = **answer;
  found.loaded = well.levels.loaded;
  found.planner_lag = well.levels.planner_lag;
  if (well.levels.oldest_due) found.oldest_due = std::max(Duration::zero(), well.now - *well.levels.oldest_due);
  if (well.levels.planner_lag > options_.lag_max) {
    found.lag = fmt::format("the planner is {} behind; more than {} makes misfires",
                            format_duration(well.levels.planner_lag), format_duration(options_.lag_max));
  }
  return found;
}

}  // namespace carillon::server
