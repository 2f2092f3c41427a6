#include "engine/calls/queries.h"

#include "engine/round/node.h"

namespace carillon {

Instant Queries::now() const { return node_.store().jobs().now(); }
JobId Queries::new_job_id() const { return node_.store().jobs().new_job_id(); }
const RuleBook& Queries::rules() const { return node_.rules(); }
EngineConfig Queries::config() const { return node_.config(); }
std::optional<Duration> Queries::since_commit() const { return node_.since_commit(); }

Result<ScheduleRow> Queries::schedule(std::string_view tenant, std::string_view name) const {
  return node_.store().reader().schedule(tenant, name);
}

Result<ScheduleRow> Queries::kept_schedule(std::string_view tenant, std::string_view name) const {
  return node_.store().reader().kept_schedule(tenant, name);
}

Result<std::vector<ScheduleRow>> Queries::schedules(std::string_view tenant, std::string_view after,
                                                    std::size_t limit) const {
  return node_.store().reader().schedules(tenant, after, limit);
}

Result<SubjectRow> Queries::subject(ScheduleId schedule, std::string_view subject) const {
  return node_.store().reader().subject(schedule, subject);
}

Result<Document> Queries::document(const DocumentKey& key) const { return node_.store().reader().document(key); }

Result<std::vector<Document>> Queries::documents(std::string_view tenant, std::string_view kind, std::string_view after,
                                                 std::size_t limit) const {
  return node_.store().reader().documents(tenant, kind, after, limit);
}

Result<std::vector<Document>> Queries::documents_above(const DocumentKey& after, std::size_t limit) const {
  return node_.store().admin().documents_above(after, limit);
}

Result<std::vector<StateCount>> Queries::counts(std::string_view tenant) const {
  return node_.store().reader().counts(tenant);
}

Result<std::int64_t> Queries::count_of(JobState state) const { return node_.store().reader().count_of(state); }

Result<std::vector<AuditRow>> Queries::audit(std::string_view tenant, std::int64_t before, std::size_t limit) const {
  return node_.store().reader().audit(tenant, before, limit);
}

}  // namespace carillon
