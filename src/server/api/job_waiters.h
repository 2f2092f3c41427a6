// Calls that wait for a job to end. The engine's thread only says which has; another calls those who wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/jobs/job_id.h"

namespace carillon::server {

class JobWaiters {
 public:
  using Done = std::function<void()>;

  // Any thread. `done` is called once, by `call_ended`, if the job ends before it is forgotten.
  std::uint64_t add(JobId job, Done done);
  void forget(std::uint64_t number);

  // The engine's thread: whether anybody waits for it. Who does is kept until he is called: that is never lost.
  bool ended(JobId job);
  // Calls those whose job has ended.
  void call_ended();

 private:
  struct Waiter {
    std::uint64_t number;
    Done done;
  };
  std::mutex mutex_;
  std::unordered_map<JobId, std::vector<Waiter>> by_job_;
  std::unordered_map<std::uint64_t, JobId> jobs_;  // by the waiter's number
  std::vector<Waiter> ended_;
  std::uint64_t last_ = 0;
  std::atomic<std::size_t> waiting_ = 0;  // as many as jobs_ has
};

}  // namespace carillon::server
