#include "engine/calls/node_client.h"

#include <algorithm>
#include <array>

#include "engine/attempts/settlement.h"
#include "engine/calls/job_info.h"
#include "engine/calls/trail.h"
#include "store/told_occurrence.h"

namespace carillon {

namespace {

JobState changed(Node& node, Round& round, std::string_view tenant, const Changed& change) {
  round.add_ready(change.ready);
  round.tell(JobChanged{.job = change.id, .tenant = std::string(tenant), .state = change.state});
  if (change.cancel_requested) node.ask_to_stop(round, change.id);
  return change.state;
}

}  // namespace

AuditWord NodeClient::word_of(const Deed& deed) const {
  return {
      .tenant = std::string(deed.tenant), .actor = actor_, .action = std::string(deed.action), .target = deed.target};
}

Result<void> NodeClient::note(const Deed& deed, const std::optional<AuditDetail>& trail) {
  if (actor_.empty() || !trail) return {};
  return node_.store().admin().append_audit(word_of(deed), *trail);
}

EnqueuedJob NodeClient::enqueued(Round& round, const NewJob& job, const Enqueued& made) {
  if (made.deduplicated) {
    round.tell(EnqueueIgnored{.job = made.id, .tenant = job.tenant, .type = job.type, .reason = "idempotency_key"});
  } else {
    if (made.state == JobState::queued && !made.was_stored) round.ready.push_back(made.ready);
    round.tell(JobChanged{.job = made.id, .tenant = job.tenant, .state = made.state});
  }
  return {.id = made.id, .deduplicated = made.deduplicated, .state = made.state};
}

Result<EnqueuedJob> NodeClient::enqueue(const JobRequest& job) {
  return node_.call<EnqueuedJob>([&](Round& round) -> Result<EnqueuedJob> {
    const NewJob wanted = new_job_of(job, round.now, node_.rules().job_defaults());
    TRY(node_.rules().check_limits(wanted.tenant, wanted.options.limits));
    TRY_ASSIGN(const Enqueued made, std::move(node_.store().jobs().enqueue(std::array{wanted}).front()));
    return enqueued(round, wanted, made);
  });
}

Result<std::vector<EnqueuedJob>> NodeClient::enqueue_all(std::span<const JobRequest> jobs) {
  return node_.call<std::vector<EnqueuedJob>>([&](Round& round) -> Result<std::vector<EnqueuedJob>> {
    std::vector<NewJob> wanted;
    wanted.reserve(jobs.size());
    const JobDefaults defaults = node_.rules().job_defaults();
    for (const JobRequest& job : jobs) {
      wanted.push_back(new_job_of(job, round.now, defaults));
      TRY(node_.rules().check_limits(wanted.back().tenant, wanted.back().options.limits));
    }
    TRY_ASSIGN(const std::vector<Enqueued> made, node_.store().jobs().enqueue_all(wanted));
    std::vector<EnqueuedJob> answers;
    answers.reserve(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) answers.push_back(enqueued(round, wanted[i], made[i]));
    return answers;
  });
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

Result<JobState> NodeClient::act(std::string_view tenant, std::string_view word, JobAction action, JobId id) {
  return write<JobState>({tenant, word, format_job_id(id)}, [&](Round& round) -> Result<Done<JobState>> {
    if (action == JobAction::run_now) TRY(node_.rules().check_enabled());
    TRY_ASSIGN(const Changed change, std::move(node_.store().jobs().act(tenant, action, std::array{id}).front()));
    return Done<JobState>{changed(node_, round, tenant, change), trail_of(change.before, change.after)};
  });
}

Result<JobState> NodeClient::cancel(std::string_view tenant, JobId id) {
  return act(tenant, "job.cancel", JobAction::cancel, id);
}
Result<JobState> NodeClient::retry(std::string_view tenant, JobId id) {
  return act(tenant, "job.retry", JobAction::retry, id);
}
Result<JobState> NodeClient::discard(std::string_view tenant, JobId id) {
  return act(tenant, "job.discard", JobAction::discard, id);
}
Result<JobState> NodeClient::run_now(std::string_view tenant, JobId id) {
  return act(tenant, "job.run", JobAction::run_now, id);
}

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
  if (!actor_.empty()) options.created_by = actor_;
  const NewJob job{.tenant = like.lane.tenant,
                   .queue = like.lane.queue,
                   .type = like.type,
                   .payload = like.payload,
                   .priority = like.row.priority,
                   .options = options,
                   .subject = std::move(told.subject)};
  return write<EnqueuedJob>({tenant, "job.rerun", format_job_id(id)}, [&](Round& round) -> Result<Done<EnqueuedJob>> {
    TRY_ASSIGN(const Enqueued made, std::move(node_.store().jobs().enqueue(std::array{job}).front()));
    return Done<EnqueuedJob>{enqueued(round, job, made), trail_of(job, made)};
  });
}

Result<JobState> NodeClient::change(std::string_view tenant, JobId id, const JobChange& change) {
  return write<JobState>({tenant, "job.change", format_job_id(id)}, [&](Round& round) -> Result<Done<JobState>> {
    if (change.limits) TRY(node_.rules().check_limits(tenant, *change.limits));
    TRY_ASSIGN(const Changed made, node_.store().jobs().patch(tenant, id,
                                                              {.priority = change.priority,
                                                               .run_at = change.run_at,
                                                               .payload = change.payload,
                                                               .payload_over = {},
                                                               .retry = change.retry,
                                                               .max_attempts = change.max_attempts,
                                                               .limits = change.limits}));
    return Done<JobState>{changed(node_, round, tenant, made), trail_of(made.before, made.after)};
  });
}

// ---- Bulk work ----------------------------------------------------------------------------------------------------

Result<BulkInfo> NodeClient::bulk(const BulkRequest& request) {
  TRY(check_meant(request));
  // Before the round: it is for the bar that shows how far the work is, and nothing rests on it.
  Store& store = node_.store();
  const BulkWork::Begin begin{.request = request,
                              .total = count_matching(store, query_of(request, store.jobs().now()))};
  return write<BulkInfo>({request.query.tenant, "jobs.bulk", std::string(to_string(request.action))},
                         [&](Round& round) -> Result<Done<BulkInfo>> {
                           TRY_ASSIGN(BulkInfo begun, node_.bulk().begin(round, begin));
                           AuditDetail trail = trail_of(request, begun);
                           return Done<BulkInfo>{std::move(begun), std::move(trail)};
                         });
}

Result<BulkInfo> NodeClient::bulk_status(std::string_view tenant, std::string_view id) {
  TRY_ASSIGN(const Document document,
             node_.store().reader().document(
                 {.tenant = std::string(tenant), .kind = std::string(kBulkKind), .name = std::string(id)}));
  TRY_ASSIGN(const BulkState state, read_bulk(document.body));
  return state.info;
}

Result<BulkInfo> NodeClient::stop_bulk(std::string_view tenant, std::string_view id) {
  const DocumentKey key{.tenant = std::string(tenant), .kind = std::string(kBulkKind), .name = std::string(id)};
  return write<BulkInfo>({tenant, "bulk.stop", std::string(id)}, [&](Round& round) -> Result<Done<BulkInfo>> {
    TRY_ASSIGN(const Document document, node_.store().admin().document(key));
    TRY_ASSIGN(const BulkState before, read_bulk(document.body));
    TRY_ASSIGN(BulkInfo stopped, node_.bulk().stop(round, tenant, id));
    auto trail = trail_of_stop(before.info.state, stopped);
    return Done<BulkInfo>{std::move(stopped), std::move(trail)};
  });
}

// ---- Settings -----------------------------------------------------------------------------------------------------

AuditWord NodeClient::word_of_document(const DocumentKey& key, std::string_view action) const {
  return word_of({key.tenant, action, key.name.empty() ? key.kind : key.kind + "/" + key.name});
}

Result<void> NodeClient::store_document(Round& round, const DocumentKey& key, std::string body, bool is_noted) {
  std::optional<AuditWord> word;
  if (is_noted && !actor_.empty()) word = word_of_document(key, "put");
  TRY(node_.store().admin().put_document({.key = key, .body = body}, word));
  node_.apply_document(round, key, std::move(body));
  return {};
}

Result<void> NodeClient::put_document(DocumentKey key, std::optional<std::string_view> body) {
  return node_.call<void>([&](Round& round) -> Result<void> {
    if (body) {
      const auto before = node_.store().admin().document(key);
      TRY_ASSIGN(
          std::string whole,
          merged_document(key.kind, *body, before ? std::optional<std::string_view>(before->body) : std::nullopt));
      return store_document(round, key, std::move(whole));
    }
    std::optional<AuditWord> word;
    if (!actor_.empty()) word = word_of_document(key, "delete");
    const auto deleted = node_.store().admin().delete_document(key, word);
    // Clearing what is not set is no error.
    if (!deleted && deleted.error().code != ErrorCode::not_found) return deleted;
    node_.apply_document(round, key, std::nullopt);
    return {};
  });
}

// Both documents in one transaction: what holds is made of both.
Result<void> NodeClient::put_settings_by(By by, std::string_view tenant, std::string_view settings) {
  const DocumentKey key{.tenant = std::string(tenant), .kind = std::string(kSettingsKind), .name = {}};
  const DocumentKey bounds_key{.tenant = std::string(tenant), .kind = std::string(kBoundsKind), .name = {}};
  return node_.call<void>([&](Round& round) -> Result<void> {
    AdminStore& admin = node_.store().admin();
    SettingsBefore before;
    // What cannot be read counts for nothing, as in the rule book.
    const auto stored = admin.document(key);
    if (stored) before.settings = parse_tenant_settings(stored->body).value_or(TenantSettings{});
    const auto stored_bounds = admin.document(bounds_key);
    before.bounds = bounds_of(before.settings);
    if (stored_bounds) before.bounds = parse_tenant_bounds(stored_bounds->body).value_or(TenantBounds{});
    TRY_ASSIGN(const SettingsAfter after, by == By::operators_own
                                              ? put_by_operator(settings, before)
                                              : put_by_tenant(settings, before, node_.config().retention));
    // The trail has one row of it: of the settings, or else of the bounds, if these alone have changed.
    const bool is_same = stored && after.settings == before.settings;
    TRY(store_document(round, bounds_key, write_tenant_bounds(after.bounds), is_same));
    return store_document(round, key, write_tenant_settings(after.settings));
  });
}

Result<void> NodeClient::put_settings(std::string_view tenant, std::string_view settings) {
  return put_settings_by(By::operators_own, tenant, settings);
}

Result<void> NodeClient::put_own_settings(std::string_view tenant, std::string_view settings) {
  return put_settings_by(By::tenant, tenant, settings);
}

Result<void> NodeClient::put_queue(std::string_view tenant, std::string_view queue, std::string_view settings) {
  return put_document({.tenant = std::string(tenant), .kind = std::string(kQueueKind), .name = std::string(queue)},
                      settings);
}

Result<void> NodeClient::put_limit(std::string_view tenant, std::string_view name,
                                   std::optional<std::string_view> rule) {
  TRY(check_name("limit", name));
  return put_document({.tenant = std::string(tenant), .kind = std::string(kLimitKind), .name = std::string(name)},
                      rule);
}

Result<void> NodeClient::put_maintenance(std::string_view tenant, std::optional<std::string_view> maintenance) {
  return put_document({.tenant = std::string(tenant), .kind = std::string(kMaintenanceKind), .name = {}}, maintenance);
}

Result<void> NodeClient::put_config(std::string_view config) {
  return put_document({.tenant = {}, .kind = std::string(kConfigKind), .name = {}}, config);
}

}  // namespace carillon
