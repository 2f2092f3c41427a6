// What a node says about itself: how much there is, how late it is, and what stands in the way of a job.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/attempts/attempts.h"
#include "engine/calls/holds.h"
#include "engine/planning/planner.h"
#include "engine/round/levels.h"
#include "engine/round/part.h"
#include "engine/round/readiness.h"
#include "engine/upkeep/gates.h"

namespace carillon {

class Levels final : public Part {
 public:
  Levels(std::uint32_t max_concurrency, const RuleBook& rules, Dispatcher& dispatcher, Planner& planner,
         Attempts& attempts, const Gates& gates, const Readiness& readiness)
      : max_concurrency_(max_concurrency),
        rules_(rules),
        dispatcher_(dispatcher),
        planner_(planner),
        attempts_(attempts),
        gates_(gates),
        readiness_(readiness) {}

  NodeLevels of_all(const Round& round);
  // What is theirs alone; how busy the node is, is not told.
  NodeLevels of(const std::vector<std::string>& tenants, Instant now);
  // How many jobs are queued and due, of all or of one tenant: the one number of what waits.
  std::size_t due_count(Instant now, std::optional<std::string_view> tenant = std::nullopt);
  // What stands in the way of a job where it is, for explain.
  PlaceHolds holds(const JobInfo& job, TypeId type, const Round& round);

  // Told of every tick.
  void committed(Round& round, const Result<void>& commit) override;

 private:
  const std::uint32_t max_concurrency_;
  const RuleBook& rules_;
  Dispatcher& dispatcher_;
  Planner& planner_;
  Attempts& attempts_;
  const Gates& gates_;
  const Readiness& readiness_;
};

}  // namespace carillon
