// A second opinion on the life of jobs, written from the rules in words (docs/invariants.md) alone: no row, no lease
// table, no code of the store. Told what was asked and what was answered, it says what is wrong with the answer.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "contract/store_contract.h"

namespace carillon::test {

class JobOracle {
 public:
  explicit JobOracle(const ManualStoreClock& clock) : clock_(clock) {}

  // Each answers "" if it agrees.
  std::string enqueue(const NewJob& asked, const Result<Enqueued>& answer);
  std::string claim(const ClaimRequest& asked, const Claimed& answer);
  void begun(const LeaseKey& asked);
  std::string extend(const Extension& asked, const Result<Extended>& answer);
  std::string settle(const Settlement& asked, const Result<Settled>& answer);
  std::string reap(const std::vector<Reaped>& answer);
  std::string finish_overdue(const std::vector<Changed>& answer);
  std::string act(std::string_view tenant, JobAction action, JobId id, const Result<Changed>& answer);
  std::string patch(std::string_view tenant, JobId id, const JobPatch& patch, const Result<Changed>& answer);
  struct BulkTotal {
    std::uint64_t changed = 0;
    std::uint64_t refused = 0;
  };
  std::string act_on(std::string_view tenant, std::optional<JobState> state, JobAction action, BulkTotal answer);
  // After everything older than `keep` was to be pruned.
  void pruned(Duration keep, StoreReader& reader);

  bool knows(JobId id) const { return jobs_.contains(id); }
  // Compares every job with what can be read.
  std::string check(StoreReader& reader) const;

 private:
  struct Word {
    std::int64_t token = 0;
    std::string said;
    JobState state = JobState::done;
    Instant run_at;
  };
  struct Job {
    NewJob asked;
    JobState state = JobState::queued;
    std::uint32_t attempts = 0;
    std::int64_t token = 0;
    Instant run_at;
    std::optional<Instant> finished_at;
    bool cancel_requested = false;
    std::uint32_t losses = 0;
    bool ahead = false;      // its lease was given before a slot was free, and nobody has said that it began
    bool lost_free = false;  // in this row of losses one was
    std::uint32_t releases = 0;
    std::uint32_t rate_limits = 0;
    std::set<JobId> waits_for;
    Duration length{};
    BootTime until{};
    BootTime timeout_at{};
    Instant claimed_at;
    std::optional<Word> last_word;  // nothing: something else has happened since
  };
  struct Key {
    JobId job;
    std::string payload;
    std::optional<Instant> until;
  };

  Job* find(JobId id);
  Job* find(std::string_view tenant, JobId id);
  void create(const NewJob& asked);
  void finish(JobId id, JobState state);
  void requeue(Job& job, Instant run_at);
  // How an attempt's end changes the job; the lease is gone.
  void end_attempt(JobId id, const AttemptEnd& end);
  void retry_or_park(Job& job);
  Result<Changed> judge(std::string_view tenant, JobAction action, JobId id);
  bool overdue(const Job& job) const { return job.asked.deadline && *job.asked.deadline <= clock_.wall(); }
  bool used_up(const Job& job) const {
    if (std::holds_alternative<RetryNone>(*job.asked.options.retry)) return job.attempts >= 1;
    return job.asked.options.max_attempts && job.attempts >= *job.asked.options.max_attempts;
  }

  const ManualStoreClock& clock_;
  std::map<JobId, Job> jobs_;
  std::map<std::tuple<std::string, std::string, std::string>, Key> keys_;  // by tenant, type and key
};

}  // namespace carillon::test
