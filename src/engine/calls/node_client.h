// The client of a node: each write is a command that it asks for, each question goes to the store's reader.
//
// One that acts for somebody leaves a row in the audit trail with each write, in the same transaction, which says what
// was changed; what changes nothing leaves none, and new jobs do not either: they carry who made them.
#pragma once

#include <carillon/client.h>

#include <span>
#include <string>
#include <utility>

#include "core/schedules/schedule.h"
#include "engine/calls/import_lines.h"
#include "engine/commands/actor.h"
#include "engine/commands/commands.h"
#include "engine/round/node.h"

namespace carillon {

class NodeClient final : public Client {
 public:
  explicit NodeClient(Node& node, std::string actor = {}) : node_(node), commands_(node), actor_{std::move(actor)} {}
  NodeClient(const NodeClient&) = delete;
  NodeClient& operator=(const NodeClient&) = delete;
  ~NodeClient() override = default;

  Result<EnqueuedJob> enqueue(const JobRequest& job) override;
  Result<std::vector<EnqueuedJob>> enqueue_all(std::span<const JobRequest> jobs) override;
  Result<JobInfo> job(std::string_view tenant, JobId id) override;
  Result<JobList> jobs(const JobQuery& query, JobId before, std::size_t limit) override;
  Result<JobState> cancel(std::string_view tenant, JobId id) override;
  Result<JobState> retry(std::string_view tenant, JobId id) override;
  Result<JobState> discard(std::string_view tenant, JobId id) override;
  Result<JobState> run_now(std::string_view tenant, JobId id) override;
  Result<EnqueuedJob> rerun(std::string_view tenant, JobId id) override;
  Result<JobState> change(std::string_view tenant, JobId id, const JobChange& change) override;
  Result<Explanation> explain(std::string_view tenant, JobId id) override;

  Result<BulkInfo> bulk(const BulkRequest& request) override;
  Result<BulkInfo> bulk_status(std::string_view tenant, std::string_view id) override;
  Result<BulkInfo> stop_bulk(std::string_view tenant, std::string_view id) override;

  Result<ScheduleInfo> schedule_recurring(const ScheduleRequest& request) override;
  Result<ScheduleInfo> put_schedule(std::string_view tenant, std::string_view definition,
                                    std::optional<std::int64_t> if_revision) override;
  Result<ScheduleInfo> patch_schedule(std::string_view tenant, std::string_view name, std::string_view patch,
                                      std::optional<std::int64_t> if_revision) override;
  Result<ScheduleInfo> schedule(std::string_view tenant, std::string_view name) override;
  Result<std::vector<ScheduleInfo>> schedules(std::string_view tenant, std::string_view after,
                                              std::size_t limit) override;
  Result<ScheduleInfo> pause(std::string_view tenant, std::string_view name, std::optional<Instant> until) override;
  Result<ScheduleInfo> resume(std::string_view tenant, std::string_view name) override;
  Result<void> delete_schedule(std::string_view tenant, std::string_view name) override;
  Result<EnqueuedJob> trigger(std::string_view tenant, std::string_view name, const TriggerOptions& options) override;
  Result<Preview> preview(std::string_view tenant, std::string_view name, std::size_t count,
                          std::string_view subject) override;
  Result<Explanation> explain_schedule(std::string_view tenant, std::string_view name,
                                       std::string_view subject) override;
  Result<BulkInfo> backfill(std::string_view tenant, std::string_view name, const BackfillRequest& request) override;

  Result<PutSubjectAnswer> put_subject(std::string_view tenant, std::string_view schedule, std::string_view subject,
                                       std::string_view body, std::optional<std::int64_t> if_version) override;
  Result<PutSubjectAnswer> patch_subject(std::string_view tenant, std::string_view schedule, std::string_view subject,
                                         std::string_view body, std::optional<std::int64_t> if_version) override;
  Result<ImportedSubjects> import_subjects(std::string_view tenant, std::string_view schedule,
                                           std::string_view text) override;
  Result<SubjectInfo> subject(std::string_view tenant, std::string_view schedule, std::string_view subject) override;
  Result<SubjectList> subjects(std::string_view tenant, std::string_view schedule, const SubjectQuery& query,
                               std::string_view cursor, std::size_t limit) override;
  Result<void> delete_subject(std::string_view tenant, std::string_view schedule, std::string_view subject) override;
  Result<std::vector<OutcomeMinute>> outcomes_of_day(std::string_view tenant, std::string_view schedule,
                                                     std::string_view date) override;
  Result<OutcomeList> outcome_items(std::string_view tenant, std::string_view schedule, const OutcomeItemQuery& query,
                                    std::string_view cursor, std::size_t limit) override;

  // In the name of the operator: what it sets is also what the tenant may have at most.
  Result<void> put_settings(std::string_view tenant, std::string_view settings) override;
  // In the name of the tenant: refused beyond its bounds.
  Result<void> put_own_settings(std::string_view tenant, std::string_view settings);
  Result<void> put_queue(std::string_view tenant, std::string_view queue, std::string_view settings) override;
  Result<void> put_limit(std::string_view tenant, std::string_view name, std::optional<std::string_view> rule) override;
  Result<void> put_maintenance(std::string_view tenant, std::optional<std::string_view> maintenance) override;
  Result<void> put_config(std::string_view config) override;

 private:
  Result<JobState> act(std::string_view tenant, JobAction action, JobId id);
  Result<ScheduleInfo> info_of(const ScheduleRow& row);
  // That its jobs name and nobody has.
  std::vector<std::string> missing_limits_of(std::string_view tenant, const Schedule& schedule);
  Result<SubjectInfo> info_of(const ScheduleRow& row, const Schedule& schedule, const SubjectRow& subject);
  static constexpr std::size_t kGapsShown = 100;
  // Of windows, the newest.
  Result<void> add_gaps(const ScheduleRow& row, const Schedule& schedule, SubjectInfo& info,
                        std::size_t most = kGapsShown);
  struct SubjectBody {
    std::string_view subject;
    std::string_view body;
    std::optional<std::int64_t> if_version;
    bool patches = false;
  };
  Result<ImportedSubjects> import_in_parts(const ImportWork::Name& name, std::vector<ImportLine> lines);
  Result<PutSubjectAnswer> put_subject_as(std::string_view tenant, std::string_view schedule, const SubjectBody& body);
  Result<void> put_rule(DocumentKey key, std::optional<std::string_view> body);

  Node& node_;
  Commands commands_;
  const Actor actor_;
};

}  // namespace carillon
