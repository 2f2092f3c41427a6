#include "engine/upkeep/tenant_erasure.h"

#include "base/json_writer.h"
#include "core/jobs/stored_json.h"

namespace carillon {

namespace {

constexpr std::size_t kErasedAtOnce = 500;
// Between two steps: others come first.
constexpr Duration kBetweenErasures = std::chrono::milliseconds(10);
// Until what still runs is looked at again.
constexpr Duration kWaitForJobs = std::chrono::seconds(1);

DocumentKey erasure_key(std::string_view tenant) {
  return {.tenant = {}, .kind = std::string(kErasureKind), .name = std::string(tenant)};
}

}  // namespace

std::string write_erasure(const ErasureState& state) {
  JsonObject object;
  object.integer("part", static_cast<std::int64_t>(state.position.part)).integer("after", state.position.after);
  object.integer("erased", static_cast<std::int64_t>(state.erased));
  return object.str();
}

Result<ErasureState> read_erasure(const Document& document) {
  TRY_ASSIGN(const Json json, parse_stored("erasure", document.body));
  const StoredObject object(document.body, json);
  ErasureState state{.tenant = document.key.name};
  switch (object.integer("part").value_or(0)) {
    case 1: state.position.part = ErasePosition::Part::schedules; break;
    case 2: state.position.part = ErasePosition::Part::rest; break;
    default: break;  // from the beginning: what is gone costs nothing
  }
  state.position.after = object.integer("after").value_or(0);
  state.erased = static_cast<std::uint64_t>(object.integer("erased").value_or(0));
  return state;
}

Result<void> TenantErasure::begin(Round& round, std::string_view tenant) {
  if (works_.contains(tenant)) return {};
  const ErasureState state{.tenant = std::string(tenant)};
  TRY(store_.admin().put_document({.key = erasure_key(tenant), .body = write_erasure(state)}, std::nullopt));
  go_on(round, state.tenant, {.next_at = round.boot});
  return {};
}

void TenantErasure::resume(const Document& document) { works_.try_emplace(document.key.name); }

void TenantErasure::go_on(Round& round, const std::string& tenant, Work work) {
  round.on_commit.emplace_back([this, tenant, work] { works_.insert_or_assign(tenant, work); });
}

std::optional<BootTime> TenantErasure::next_at() const {
  std::optional<BootTime> next;
  for (const auto& [tenant, work] : works_) {
    if (!next || work.next_at < *next) next = work.next_at;
  }
  return next;
}

// One step of one of them: there are seldom two.
Result<void> TenantErasure::step(Round& round) {
  for (const auto& [tenant, work] : works_) {
    if (work.next_at <= round.boot) return step(round, tenant, work);
  }
  return {};
}

Result<void> TenantErasure::step(Round& round, const std::string& tenant, const Work& work) {
  if (work.cancelling) return cancel_jobs(round, tenant, *work.cancelling);
  const auto document = store_.admin().document(erasure_key(tenant));
  if (!document) {
    if (document.error().code != ErrorCode::not_found) return std::unexpected(document.error());
    round.on_commit.emplace_back([this, tenant] { works_.erase(tenant); });
    return {};
  }
  ErasureState state = read_erasure(*document).value_or(ErasureState{.tenant = tenant});
  TRY_ASSIGN(const EraseStep step, store_.admin().erase_tenant(tenant, state.position, kErasedAtOnce));
  for (const DocumentKey& key : step.documents) hooks_.document_erased(round, key);
  for (const std::string& schedule : step.schedules) {
    // One that may not be deleted now, because lines are being imported into it, may be later.
    const auto removed = planner_.remove(round, tenant, schedule);
    if (!removed && removed.error().code != ErrorCode::conflict && removed.error().code != ErrorCode::not_found) {
      return std::unexpected(removed.error());
    }
  }
  if (step.end) {
    TRY(store_.admin().delete_document(erasure_key(tenant), std::nullopt));
    round.on_commit.emplace_back([this, tenant] {
      works_.erase(tenant);
      hooks_.erased(tenant);
    });
    return {};
  }
  state.position = step.position;
  if (!step.schedules.empty()) state.position = {};  // what is deleted now is to be erased as well
  state.erased += step.erased;
  TRY(store_.admin().put_document({.key = erasure_key(tenant), .body = write_erasure(state)}, std::nullopt));
  Work next{.next_at = round.boot + kBetweenErasures};
  if (step.live_jobs > 0) next.cancelling = JobId{};
  go_on(round, tenant, next);
  return {};
}

Result<void> TenantErasure::cancel_jobs(Round& round, const std::string& tenant, JobId after) {
  const JobQuery live{.tenant = tenant,
                      .states = {JobState::waiting, JobState::queued, JobState::processing, JobState::dlq}};
  TRY_ASSIGN(const BulkStep step, store_.jobs().act_on(live, JobAction::cancel, after, kErasedAtOnce));
  round.add_ready(step.ready);
  for (const Changed& job : step.jobs) {
    round.tell(JobChanged{.job = job.id, .tenant = job.tenant, .state = job.state});
    if (job.cancel_requested) hooks_.ask_to_stop(round, job.id);
  }
  if (step.end) {
    go_on(round, tenant, {.next_at = round.boot + kWaitForJobs});
  } else {
    go_on(round, tenant, {.next_at = round.boot + kBetweenErasures, .cancelling = step.next_after});
  }
  return {};
}

}  // namespace carillon
