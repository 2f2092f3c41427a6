// A random load of whole life cycles on a store, which writes into a ledger what it asks and what it is told.
//
// Enqueues (alone, in batches, with keys, long payloads, deadlines, far off, in pairs that depend), claims, settles in
// every way (with follow-ups), cancels, and retries from the DLQ. One load is one thread; no two touch the same job.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "durability/ledger.h"
#include "faults/seeded_random.h"
#include "store/store.h"

namespace carillon::test {

class CommonCommits;

using Work = std::function<Result<void>(Store&)>;
// How a write reaches the store.
using Way = std::function<Result<void>(const Work&)>;

Way straight_to(Store& store);
Way through(CommonCommits& commits);

class Load {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::string name = "ada";  // in keys and as the worker
    // An error promises that nothing has changed. After a crash that cannot be known.
    bool errors_change_nothing = false;
    std::size_t payload_bytes_max = 12'000;
  };
  Load(JobStore& jobs, Way way, Ledger& ledger, Options options);

  // One write. The error with which it was answered, if it was.
  Result<void> step();

 private:
  Result<void> enqueue_some();
  Result<void> enqueue_pair();
  Result<void> claim_some();
  Result<void> settle_some();
  Result<void> cancel_one();
  Result<void> retry_one();

  NewJob new_job();
  JobFacts facts_of_new(const NewJob& job) const;
  // Asks, tells the ledger, and moves the jobs to where they are now.
  Result<void> write(const Facts& after, const Work& work);
  void sort_in(JobId id, JobState state);
  // Some of `from`, without taking them out.
  std::vector<JobId> pick(const std::vector<JobId>& from, std::size_t count_max);
  // What the end of a job does to the one that waits for it.
  void add_dependent(JobId parent, JobState ended_as, Facts& after) const;

  JobStore& jobs_;
  const Way way_;
  Ledger& ledger_;
  const Options options_;
  SeededRandom random_;
  std::uint64_t keys_ = 0;

  std::vector<JobId> due_;
  std::vector<JobId> far_off_;
  std::vector<JobId> leased_;
  std::vector<JobId> parked_;
  std::map<JobId, JobId> dependent_;  // of a parent
  std::map<JobId, bool> key_goes_at_end_;
};

}  // namespace carillon::test
