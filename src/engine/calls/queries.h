// What anything above the engine asks without changing it: what is kept, and the rules by which the engine runs.
//
// Each is answered at once, from the last commit, on the caller's thread: any but the driver's. What has to be asked
// inside of a round is a command (commands/operations.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/upkeep/rule_book.h"
#include "store/store_reader.h"

namespace carillon {

class Node;

class Queries {
 public:
  explicit Queries(Node& node) : node_(node) {}

  // The clock by which things are due. Any thread, the driver's too, as the next four.
  Instant now() const;
  // Higher than all that there are.
  JobId new_job_id() const;
  const RuleBook& rules() const;
  EngineConfig config() const;
  // How long ago a round was committed last; nothing: none was.
  std::optional<Duration> since_commit() const;

  // Errors of those that name one thing: not_found.
  Result<ScheduleRow> schedule(std::string_view tenant, std::string_view name) const;
  // Also one that was deleted, for as long as its outcomes are kept.
  Result<ScheduleRow> kept_schedule(std::string_view tenant, std::string_view name) const;
  Result<std::vector<ScheduleRow>> schedules(std::string_view tenant, std::string_view after, std::size_t limit) const;
  Result<SubjectRow> subject(ScheduleId schedule, std::string_view subject) const;
  Result<Document> document(const DocumentKey& key) const;
  Result<std::vector<Document>> documents(std::string_view tenant, std::string_view kind, std::string_view after,
                                          std::size_t limit) const;
  // Of all tenants and kinds, by key.
  Result<std::vector<Document>> documents_above(const DocumentKey& after, std::size_t limit) const;
  Result<std::vector<StateCount>> counts(std::string_view tenant) const;
  Result<std::int64_t> count_of(JobState state) const;
  Result<std::vector<AuditRow>> audit(std::string_view tenant, std::int64_t before, std::size_t limit) const;

 private:
  Node& node_;
};

}  // namespace carillon
