// The contract of a store: what every backend must do, as tests that run over each of them.
//
// A backend enters by one entry in backends.cpp. A test is a sentence about `store()`, at a time that it sets itself:
//
//   TEST_P(StoreContract, AnExpiredLeaseCannotCompleteItsJob) {  // invariant 10
//     const LeasedJob stale = claim_one(enqueue(job()), {.lease = 30s});
//     clock().advance(31s);
//     reap();
//
//     EXPECT_EQ(refusal_of(completed(stale)).code, ErrorCode::stale_token);
//   }
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/backend.h"
#include "store/job_text.h"
#include "store/store.h"
#include "store/subject_text.h"
#include "support/results.h"

namespace carillon {

// How values read in a failure. The name is GoogleTest's.
// NOLINTBEGIN(readability-identifier-naming)
void PrintTo(JobState state, std::ostream* out);
void PrintTo(AttemptResult result, std::ostream* out);
void PrintTo(ErrorCode code, std::ostream* out);
void PrintTo(JobId id, std::ostream* out);
// NOLINTEND(readability-identifier-naming)

}  // namespace carillon

namespace carillon::test {

using namespace std::chrono_literals;

// Stands still until it is told. The wall and the boot clock move together, or apart.
class ManualStoreClock final : public StoreClock {
 public:
  Instant exact_wall() const override { return Instant(Duration(wall_)); }
  BootTime boot() const override { return BootTime(boot_); }

  // Time passes.
  void advance(Duration by) {
    wall_ += by.count();
    boot_ += by.count();
  }
  // Somebody sets the wall clock, back if `by` is negative.
  void step_wall(Duration by) { wall_ += by.count(); }
  // The machine was off for a while: the boot clock begins anew.
  void restart_machine(Duration off) {
    wall_ += off.count();
    boot_ = Duration(10s).count();
  }

 private:
  std::atomic<std::int64_t> wall_{
      Instant(std::chrono::sys_days(std::chrono::year(2026) / 3 / 29) + 7h).time_since_epoch().count()};
  std::atomic<std::int64_t> boot_{Duration(5000s).count()};
};

struct BackendParam {
  std::string name;
  // Opens what is kept in `folder`, which exists and is empty at first. Both must outlive the store.
  std::function<std::unique_ptr<Backend>(const StoreClock& clock, const std::filesystem::path& folder)> open_backend;
  std::unique_ptr<Store> open(const StoreClock& clock, const std::filesystem::path& folder) const;
  bool outlives_close = false;  // opened again on the same folder, everything is there
  int model_cases = 200;        // random sequences to run against the model
};

void PrintTo(const BackendParam& backend, std::ostream* out);  // NOLINT(readability-identifier-naming)

// A new and empty one. Who makes it removes it.
std::filesystem::path make_scratch_folder();

// All that are tested: backends.cpp.
const std::vector<BackendParam>& backends();
std::string backend_name(const testing::TestParamInfo<BackendParam>& backend);

#define RUN_OVER_EVERY_STORE(suite) INSTANTIATE_TEST_SUITE_P(Stores, suite, testing::ValuesIn(backends()), backend_name)

inline constexpr std::string_view kTenant = "default";

// ---- What is asked of a store, with everything at its default ----

NewJob job(std::string type = "mail.send");
// With a retry policy whose delays have no jitter: 1 min, 2 min, 4 min, …
NewJob doubling_job(std::optional<std::uint32_t> max_attempts = 5);

struct Claim {
  std::string worker = "ada";
  std::optional<Duration> lease;
  bool in_process = false;
};

Settlement completed(const LeasedJob& leased);
Settlement skipped(const LeasedJob& leased, std::string reason = "nothing to do");
Settlement failed(const LeasedJob& leased, std::string message = "it broke");
Settlement failed_for_good(const LeasedJob& leased);
Settlement released(const LeasedJob& leased, bool started = true);
Settlement rate_limited(const LeasedJob& leased, std::optional<Instant> until = {});
Settlement cancelled(const LeasedJob& leased);
Settlement deferred(const LeasedJob& leased, std::optional<Instant> until, std::string reason = "maintenance");

using Counts = std::map<std::pair<Lane, JobState>, std::int64_t>;

class StoreContract : public testing::TestWithParam<BackendParam> {
 protected:
  void SetUp() override;
  void TearDown() override;

  Store& store() { return *store_; }
  JobStore& jobs() { return store_->jobs(); }
  PlanStore& plans() { return store_->plans(); }
  AdminStore& admin() { return store_->admin(); }
  StoreReader& reader() { return store_->reader(); }
  ManualStoreClock& clock() { return clock_; }
  Instant now() const { return clock_.wall(); }
  // Closes the store and opens it on the same data.
  void reopen();

  // ---- Each must succeed ----
  JobId enqueue(const NewJob& job) { return enqueued(job).id; }
  Enqueued enqueued(const NewJob& job);
  LeasedJob claim_one(JobId id, const Claim& how = {});
  Settled settle(const Settlement& settlement);
  Extended extend(const Extension& extension);
  Changed act(JobAction action, JobId id);
  std::vector<Reaped> reap(std::size_t limit = 1000) { return value_of(jobs().reap(limit)); }
  std::vector<Changed> finish_overdue(std::size_t limit = 1000) { return value_of(jobs().finish_overdue(limit, {})); }
  // Over the whole archive, in steps of `step`. Answers how many were erased.
  std::uint64_t prune(Duration keep, std::size_t step = 1000);
  // A job that is parked: its only attempt failed for good.
  JobId parked_job(const NewJob& job);
  // A job that is done.
  JobId done_job(const NewJob& job);

  // ---- Each may be refused ----
  Result<Enqueued> try_enqueue(const NewJob& job);
  std::optional<LeasedJob> try_claim(JobId id, const Claim& how = {});
  Result<Settled> try_settle(const Settlement& settlement) { return jobs().settle({&settlement, 1}).front(); }
  Result<Extended> try_extend(const Extension& extension) { return jobs().extend({&extension, 1}).front(); }
  Result<Changed> try_act(JobAction action, JobId id, std::string_view tenant = kTenant) {
    return jobs().act(tenant, action, {&id, 1}).front();
  }
  Error refusal_of(const Settlement& settlement) { return error_of(try_settle(settlement)); }

  // ---- What can be read ----
  JobView view(JobId id, std::string_view tenant = kTenant) { return value_of(reader().job(tenant, id)); }
  JobState state(JobId id, std::string_view tenant = kTenant) { return view(id, tenant).state; }
  JobDetail detail(JobId id) { return value_of(view(id).row.detail.read()); }
  bool exists(JobId id, std::string_view tenant = kTenant) { return reader().job(tenant, id).has_value(); }
  // Newest first, page by page.
  std::vector<JobView> all_jobs(const JobQuery& filter = {}, std::size_t page_size = 500);
  std::vector<JobId> all_ids(const JobQuery& filter = {}, std::size_t page_size = 500);
  // What the store says, and what is there when somebody counts.
  Counts kept_counts(std::string_view tenant = kTenant);
  Counts counted(std::string_view tenant = kTenant);
  std::int64_t count_of(JobState state, std::string_view tenant = kTenant);
  void expect_counts_agree(std::string_view tenant = kTenant) { EXPECT_EQ(kept_counts(tenant), counted(tenant)); }
  // The ids of queued jobs that are due by `until`.
  std::vector<JobId> live_ids(Instant until, std::size_t limit = 1000);

  // ---- Schedules ----
  ScheduleId schedule(std::string name = "standup", std::string_view tenant = kTenant);
  SubjectRow put_subject(ScheduleId schedule, const SubjectEdit& edit);
  SubjectRow subject_of(ScheduleId schedule, std::string_view subject = "") {
    return value_of(reader().subject(schedule, subject));
  }
  SubjectState subject_state(ScheduleId schedule, std::string_view subject = "") {
    return value_of(read_subject_state(subject_of(schedule, subject)));
  }
  Result<Advanced> try_advance(const Advance& advance) { return plans().advance({&advance, 1}).front(); }
  Advanced advance(const Advance& advance) { return value_of(try_advance(advance)); }
  std::vector<OutcomeRow> outcomes_of(ScheduleId schedule, std::string_view subject = "");
  std::vector<OutcomeRow> gaps_of(ScheduleId schedule, std::string_view subject = "") {
    return value_of(reader().gaps(schedule, subject, 100));
  }

 private:
  ManualStoreClock clock_;
  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
};

// A job of one occurrence of the schedule "standup".
NewJob occurrence_job(Instant slot, std::string subject = "", std::optional<Instant> until = {});

std::vector<JobId> ids_of(const std::vector<ReadyJob>& ready);

}  // namespace carillon::test
