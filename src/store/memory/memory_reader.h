// Questions to the memory store.
#pragma once

#include <mutex>

#include "store/job_match.h"
#include "store/memory/memory_tables.h"
#include "store/store.h"

namespace carillon {

class MemoryReader final : public StoreReader {
 public:
  // `writing` is held while a transaction is open: what is read is committed.
  MemoryReader(const MemoryTables& tables, std::mutex& writing, const StoreClock& clock)
      : tables_(tables), writing_(writing), clock_(clock) {}

  Result<JobView> job(std::string_view tenant, JobId id) override;
  Result<JobPage> jobs(const JobQuery& query, JobId before, std::size_t limit) override;
  Result<std::vector<StateCount>> counts(std::string_view tenant) override;
  Result<std::int64_t> count_of(JobState state) override;
  Result<ScheduleRow> schedule(std::string_view tenant, std::string_view name) override;
  Result<ScheduleRow> kept_schedule(std::string_view tenant, std::string_view name) override;
  Result<std::vector<ScheduleRow>> schedules(std::string_view tenant, std::string_view after,
                                             std::size_t limit) override;
  Result<SubjectRow> subject(ScheduleId schedule, std::string_view subject) override;
  Result<SubjectPage> subjects(const SubjectFilter& filter, const std::optional<SubjectMark>& after,
                               std::size_t limit) override;
  Result<std::vector<OutcomeRow>> outcomes(const OutcomeQuery& query) override;
  Result<OutcomePage> outcome_page(const OutcomeQuery& query, const std::optional<OutcomeMark>& after) override;
  Result<std::vector<OutcomeRow>> last_outcomes(ScheduleId schedule, std::string_view subject,
                                                std::size_t limit) override;
  Result<std::vector<OutcomeRow>> gaps(ScheduleId schedule, std::string_view subject, std::size_t limit) override;
  Result<std::vector<OutcomeCount>> outcome_counts(ScheduleId schedule, std::int64_t day) override;
  Result<Document> document(const DocumentKey& key) override;
  Result<std::vector<Document>> documents(std::string_view tenant, std::string_view kind, std::string_view after,
                                          std::size_t limit) override;
  Result<std::vector<AuditRow>> audit(std::string_view tenant, std::int64_t before, std::size_t limit) override;

 private:
  bool lives(const SubjectRow& row) const;
  JobView view_of(const JobRow& row) const;
  static bool is_meant(const JobQuery& query, JobMatcher& matcher, const JobView& view);

  const MemoryTables& tables_;
  std::mutex& writing_;
  const StoreClock& clock_;
};

}  // namespace carillon
