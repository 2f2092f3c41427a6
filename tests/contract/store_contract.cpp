#include "contract/store_contract.h"

#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <stdexcept>

#include "store/transactional_store.h"

namespace carillon {

void PrintTo(JobState state, std::ostream* out) { *out << to_string(state); }
void PrintTo(AttemptResult result, std::ostream* out) { *out << to_string(result); }
void PrintTo(ErrorCode code, std::ostream* out) { *out << to_string(code); }
void PrintTo(JobId id, std::ostream* out) { *out << id.value; }

}  // namespace carillon

namespace carillon::test {

namespace {

// Loops over pages end: a store that never says so fails its test.
constexpr int kPagesMax = 10'000;

Settlement settlement(const LeasedJob& leased, AttemptEnd end) {
  Settlement settlement;
  settlement.job = leased.id;
  settlement.token = leased.token;
  settlement.end = end;
  return settlement;
}

}  // namespace

std::unique_ptr<Store> BackendParam::open(const StoreClock& clock, const std::filesystem::path& folder) const {
  auto backend = open_backend(clock, folder);
  return backend ? make_store(std::move(backend), clock) : nullptr;
}

void PrintTo(const BackendParam& backend, std::ostream* out) { *out << backend.name; }

std::string backend_name(const testing::TestParamInfo<BackendParam>& backend) { return backend.param.name; }

NewJob job(std::string type) {
  NewJob job;
  job.type = std::move(type);
  return job;
}

NewJob doubling_job(std::optional<std::uint32_t> max_attempts) {
  NewJob doubling = job();
  doubling.options.retry = RetryExponential{.base = 1min};
  doubling.options.max_attempts = max_attempts;
  return doubling;
}

NewJob occurrence_job(Instant slot, std::string subject, std::optional<Instant> until) {
  NewJob made = job();
  made.options.origin = Origin::scheduled;
  made.occurrence =
      OccurrenceKey{.schedule = "standup", .subject = std::move(subject), .slot = slot, .until = std::move(until)};
  return made;
}

Settlement completed(const LeasedJob& leased) { return settlement(leased, {.result = AttemptResult::ok}); }

Settlement skipped(const LeasedJob& leased, std::string reason) {
  Settlement said = settlement(leased, {.result = AttemptResult::ok, .skipped = true});
  said.reason = std::move(reason);
  return said;
}

Settlement failed(const LeasedJob& leased, std::string message) {
  Settlement said = settlement(leased, {.result = AttemptResult::error});
  said.error = {.message = std::move(message), .error_class = "req"};
  return said;
}

Settlement failed_for_good(const LeasedJob& leased) {
  Settlement said = failed(leased);
  said.end.permanent = true;
  return said;
}

Settlement released(const LeasedJob& leased, bool started) {
  return settlement(leased, {.result = AttemptResult::released, .started = started});
}

Settlement rate_limited(const LeasedJob& leased, std::optional<Instant> until) {
  return settlement(leased, {.result = AttemptResult::rate_limited, .retry_at = until});
}

Settlement cancelled(const LeasedJob& leased) { return settlement(leased, {.result = AttemptResult::cancelled}); }

Settlement deferred(const LeasedJob& leased, std::optional<Instant> until, std::string reason) {
  Settlement said = settlement(leased, {});
  said.defer = Settlement::Deferral{.until = until, .reason = std::move(reason)};
  return said;
}

std::vector<JobId> ids_of(const std::vector<ReadyJob>& ready) {
  std::vector<JobId> ids;
  for (const ReadyJob& job : ready) ids.push_back(job.id);
  return ids;
}

std::filesystem::path make_scratch_folder() {
  // In memory if there is such a place: the contract is about answers, not about fsync.
  const std::filesystem::path in_memory = "/dev/shm";
  const bool found = std::filesystem::is_directory(in_memory) && access(in_memory.c_str(), W_OK) == 0;
  std::string name = ((found ? in_memory : std::filesystem::temp_directory_path()) / "carillon-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder like " + name);
  return name;
}

void StoreContract::SetUp() {
  folder_ = make_scratch_folder();
  store_ = GetParam().open(clock_, folder_);
  ASSERT_NE(store_, nullptr);
}

void StoreContract::TearDown() {
  store_.reset();
  if (!folder_.empty()) std::filesystem::remove_all(folder_);
}

void StoreContract::reopen() {
  store_.reset();
  store_ = GetParam().open(clock_, folder_);
  if (!store_) throw std::runtime_error("the store could not be opened again");
}

Enqueued StoreContract::enqueued(const NewJob& job) { return value_of(try_enqueue(job)); }

Result<Enqueued> StoreContract::try_enqueue(const NewJob& job) { return jobs().enqueue({&job, 1}).front(); }

std::optional<LeasedJob> StoreContract::try_claim(JobId id, const Claim& how) {
  ClaimRequest request;
  request.worker = how.worker;
  request.lease = how.lease;
  request.in_process = how.in_process;
  request.jobs = {&id, 1};
  auto leased = value_of(jobs().claim(request)).jobs;
  if (leased.empty()) return std::nullopt;
  EXPECT_EQ(leased.size(), 1U);
  EXPECT_EQ(leased.front().id, id);
  return leased.front();
}

LeasedJob StoreContract::claim_one(JobId id, const Claim& how) {
  auto leased = try_claim(id, how);
  if (!leased) throw std::runtime_error("the job could not be claimed");
  return *std::move(leased);
}

Settled StoreContract::settle(const Settlement& settlement) { return value_of(try_settle(settlement)); }

Extended StoreContract::extend(const Extension& extension) { return value_of(try_extend(extension)); }

Changed StoreContract::act(JobAction action, JobId id) { return value_of(try_act(action, id)); }

std::uint64_t StoreContract::prune(Duration keep, std::size_t step) {
  std::uint64_t erased = 0;
  JobStore::PruneRequest request;
  request.limit = step;
  request.keep.otherwise = keep;
  for (int i = 0; i < kPagesMax; ++i) {
    const auto pruned = value_of(jobs().prune(request));
    erased += pruned.erased;
    if (pruned.end) return erased;
    request.after = pruned.next_after;
  }
  throw std::runtime_error("pruning does not end");
}

JobId StoreContract::parked_job(const NewJob& job) {
  const JobId id = enqueue(job);
  EXPECT_EQ(settle(failed_for_good(claim_one(id))).state, JobState::dlq);
  return id;
}

JobId StoreContract::done_job(const NewJob& job) {
  const JobId id = enqueue(job);
  EXPECT_EQ(settle(completed(claim_one(id))).state, JobState::done);
  return id;
}

std::vector<JobView> StoreContract::all_jobs(const JobQuery& filter, std::size_t page_size) {
  std::vector<JobView> found;
  JobId before;
  for (int i = 0; i < kPagesMax; ++i) {
    JobPage page = value_of(reader().jobs(filter, before, page_size));
    std::ranges::move(page.jobs, std::back_inserter(found));
    if (!page.next_before) return found;
    before = page.next_before;
  }
  throw std::runtime_error("the pages of jobs do not end");
}

std::vector<JobId> StoreContract::all_ids(const JobQuery& filter, std::size_t page_size) {
  std::vector<JobId> ids;
  for (const JobView& view : all_jobs(filter, page_size)) ids.push_back(view.row.id);
  return ids;
}

Counts StoreContract::kept_counts(std::string_view tenant) {
  Counts counts;
  for (const StateCount& kept : value_of(reader().counts(tenant))) {
    EXPECT_GE(kept.count, 0);
    if (kept.count != 0) counts[{kept.lane, kept.state}] += kept.count;
  }
  return counts;
}

Counts StoreContract::counted(std::string_view tenant) {
  Counts counts;
  JobQuery filter;
  filter.tenant = tenant;
  for (const JobView& view : all_jobs(filter)) ++counts[{view.lane, view.state}];
  return counts;
}

std::int64_t StoreContract::count_of(JobState state, std::string_view tenant) {
  std::int64_t count = 0;
  for (const auto& [key, kept] : kept_counts(tenant)) count += key.second == state ? kept : 0;
  return count;
}

std::vector<JobId> StoreContract::live_ids(Instant until, std::size_t limit) {
  std::vector<JobId> ids;
  JobId after;
  for (int i = 0; i < kPagesMax; ++i) {
    const LivePage page = value_of(jobs().load_live(after, until, limit));
    for (const ReadyJob& ready : page.jobs) ids.push_back(ready.id);
    if (page.end) return ids;
    after = page.next_after;
  }
  throw std::runtime_error("the pages of live jobs do not end");
}

ScheduleId StoreContract::schedule(std::string name, std::string_view tenant) {
  NewSchedule put;
  put.tenant = tenant;
  put.name = std::move(name);
  put.definition = R"({"trigger":{"kind":"daily","at":"09:00"}})";
  return value_of(plans().put_schedule(put)).id;
}

SubjectRow StoreContract::put_subject(ScheduleId schedule, const SubjectEdit& edit) {
  return value_of(plans().put_subjects(schedule, {&edit, 1})).front().row;
}

std::vector<OutcomeRow> StoreContract::outcomes_of(ScheduleId schedule, std::string_view subject) {
  StoreReader::OutcomeQuery query;
  query.schedule = schedule;
  query.subject = std::string(subject);
  auto found = value_of(reader().outcomes(query));
  std::ranges::sort(found, {}, &OutcomeRow::slot);
  return found;
}

}  // namespace carillon::test
