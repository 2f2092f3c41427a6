#include "server/api/job_waiters.h"

#include <utility>

namespace carillon::server {

std::uint64_t JobWaiters::add(JobId job, Done done) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t number = ++last_;
  by_job_[job].push_back({.number = number, .done = std::move(done)});
  jobs_.emplace(number, job);
  waiting_ = jobs_.size();
  return number;
}

void JobWaiters::forget(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  const auto job = jobs_.find(number);
  if (job == jobs_.end()) return;
  const auto waiting = by_job_.find(job->second);
  if (waiting == by_job_.end()) return;
  std::erase_if(waiting->second, [&](const Waiter& one) { return one.number == number; });
  if (waiting->second.empty()) by_job_.erase(waiting);
  jobs_.erase(job);
  waiting_ = jobs_.size();
}

bool JobWaiters::ended(JobId job) {
  // Who comes now looks at the job once he is here, and it has ended.
  if (waiting_ == 0) return false;
  const std::scoped_lock lock(mutex_);
  auto waiting = by_job_.extract(job);
  if (waiting.empty()) return false;
  for (Waiter& waiter : waiting.mapped()) {
    jobs_.erase(waiter.number);
    ended_.push_back(std::move(waiter));
  }
  waiting_ = jobs_.size();
  return true;
}

void JobWaiters::call_ended() {
  std::vector<Waiter> ended;
  {
    const std::scoped_lock lock(mutex_);
    ended.swap(ended_);
  }
  for (const Waiter& waiter : ended) waiter.done();
}

}  // namespace carillon::server
