#include "engine/calls/node_client.h"

#include <utility>

#include "engine/calls/job_info.h"
#include "engine/commands/documents.h"
#include "engine/commands/jobs.h"
#include "store/told_occurrence.h"

namespace carillon {

Result<EnqueuedJob> NodeClient::enqueue(const JobRequest& job) {
  TRY_ASSIGN(const std::vector<EnqueuedJob> made,
             commands_.ask(command::EnqueueRequests{.requests = {job}, .all_or_none = false}));
  return made.front();
}

Result<std::vector<EnqueuedJob>> NodeClient::enqueue_all(std::span<const JobRequest> jobs) {
  return commands_.ask(command::EnqueueRequests{.requests = {jobs.begin(), jobs.end()}});
}

Result<JobInfo> NodeClient::job(std::string_view tenant, JobId id) {
  TRY_ASSIGN(const JobView view, node_.store().reader().job(tenant, id));
  return job_info_of(view, node_.rules(), node_.store().jobs().now());
}

Result<JobList> NodeClient::jobs(const JobQuery& query, JobId before, std::size_t limit) {
  TRY_ASSIGN(const JobPage page, node_.store().reader().jobs(query, before, limit));
  JobList list{.next_before = page.next_before};
  for (const JobView& view : page.jobs) {
    TRY_ASSIGN(JobInfo info, job_info_of(view, node_.rules(), node_.store().jobs().now()));
    list.jobs.push_back(std::move(info));
  }
  return list;
}

Result<JobState> NodeClient::act(std::string_view tenant, JobAction action, JobId id) {
  return commands_.ask(command::ActOnJob{.tenant = std::string(tenant), .id = id, .action = action, .by = actor_});
}

Result<JobState> NodeClient::cancel(std::string_view tenant, JobId id) { return act(tenant, JobAction::cancel, id); }
Result<JobState> NodeClient::retry(std::string_view tenant, JobId id) { return act(tenant, JobAction::retry, id); }
Result<JobState> NodeClient::discard(std::string_view tenant, JobId id) { return act(tenant, JobAction::discard, id); }
Result<JobState> NodeClient::run_now(std::string_view tenant, JobId id) { return act(tenant, JobAction::run_now, id); }

Result<EnqueuedJob> NodeClient::rerun(std::string_view tenant, JobId id) {
  TRY_ASSIGN(const JobView like, node_.store().reader().job(tenant, id));
  TRY_ASSIGN(JobOptions options, like.row.options.read());
  // It is no occurrence, but tells of the one that it repeats; and nobody waits for its key.
  ToldOccurrence told = told_by(like.row, like.schedule, options);
  if (!told.schedule.empty()) {
    options.beside = BesideOccurrence{.schedule = told.schedule, .slot = told.slot, .slot_kind = told.slot_kind};
  }
  options.label.clear();
  options.origin = Origin::manual;
  options.parent = like.row.id;
  options.idempotency_key.reset();
  options.unique_until = {};
  options.key.clear();
  if (!actor_.is_nobody()) options.created_by = actor_.name;
  NewJob job{.tenant = like.lane.tenant,
             .queue = like.lane.queue,
             .type = like.type,
             .payload = like.payload,
             .priority = like.row.priority,
             .options = options,
             .subject = std::move(told.subject)};
  return commands_.ask(command::RerunJob{.like = id, .job = std::move(job), .by = actor_});
}

Result<JobState> NodeClient::change(std::string_view tenant, JobId id, const JobChange& change) {
  return commands_.ask(command::ChangeJob{.tenant = std::string(tenant),
                                          .id = id,
                                          .patch = {.priority = change.priority,
                                                    .run_at = change.run_at,
                                                    .payload = change.payload,
                                                    .payload_over = {},
                                                    .meta_over = {},
                                                    .retry = change.retry,
                                                    .max_attempts = change.max_attempts,
                                                    .limits = change.limits},
                                          .by = actor_});
}

// ---- Bulk work ----------------------------------------------------------------------------------------------------

Result<BulkInfo> NodeClient::bulk(const BulkRequest& request) {
  TRY(check_meant(request));
  // Before the round: it is for the bar that shows how far the work is, and nothing rests on it.
  Store& store = node_.store();
  return commands_.ask(command::BeginBulk{
      .request = request, .total = count_matching(store, query_of(request, store.jobs().now())), .by = actor_});
}

Result<BulkInfo> NodeClient::bulk_status(std::string_view tenant, std::string_view id) {
  TRY_ASSIGN(const Document document,
             node_.store().reader().document(
                 {.tenant = std::string(tenant), .kind = std::string(kBulkKind), .name = std::string(id)}));
  TRY_ASSIGN(const BulkState state, read_bulk(document.body));
  return state.info;
}

Result<BulkInfo> NodeClient::stop_bulk(std::string_view tenant, std::string_view id) {
  return commands_.ask(command::StopBulk{.tenant = std::string(tenant), .id = std::string(id), .by = actor_});
}

// ---- Settings -----------------------------------------------------------------------------------------------------

Result<void> NodeClient::put_rule(DocumentKey key, std::optional<std::string_view> body) {
  return commands_.ask(command::PutRule{
      .key = std::move(key), .body = body ? std::optional(std::string(*body)) : std::nullopt, .by = actor_});
}

Result<void> NodeClient::put_settings(std::string_view tenant, std::string_view settings) {
  return commands_.ask(command::PutSettings{.as = command::PutSettings::As::operators_own,
                                            .tenant = std::string(tenant),
                                            .settings = std::string(settings),
                                            .by = actor_});
}

Result<void> NodeClient::put_own_settings(std::string_view tenant, std::string_view settings) {
  return commands_.ask(command::PutSettings{.as = command::PutSettings::As::tenant,
                                            .tenant = std::string(tenant),
                                            .settings = std::string(settings),
                                            .by = actor_});
}

Result<void> NodeClient::put_queue(std::string_view tenant, std::string_view queue, std::string_view settings) {
  return put_rule({.tenant = std::string(tenant), .kind = std::string(kQueueKind), .name = std::string(queue)},
                  settings);
}

Result<void> NodeClient::put_limit(std::string_view tenant, std::string_view name,
                                   std::optional<std::string_view> rule) {
  TRY(check_name("limit", name));
  return put_rule({.tenant = std::string(tenant), .kind = std::string(kLimitKind), .name = std::string(name)}, rule);
}

Result<void> NodeClient::put_maintenance(std::string_view tenant, std::optional<std::string_view> maintenance) {
  return put_rule({.tenant = std::string(tenant), .kind = std::string(kMaintenanceKind), .name = {}}, maintenance);
}

Result<void> NodeClient::put_config(std::string_view config) {
  return put_rule({.tenant = {}, .kind = std::string(kConfigKind), .name = {}}, config);
}

}  // namespace carillon
