#include "bench/store_loop.h"

#include "base/check.h"
#include "bench/measuring.h"

namespace carillon {

void StoreLoop::enqueue(int count) {
  // Made once: whoever submits jobs has made them.
  const auto size = static_cast<std::size_t>(count);
  if (jobs_.size() != size) jobs_.assign(size, NewJob{.type = "bench", .payload = payload_});
  for (const auto& made : store_.jobs().enqueue(jobs_)) {
    must(made);
    ready_.push_back(made->id);
  }
}

void StoreLoop::claim(int count) {
  std::vector<JobId> ids(ready_.begin(), ready_.begin() + count);
  ready_.erase(ready_.begin(), ready_.begin() + count);
  auto leased = store_.jobs().claim({.worker = "bench", .jobs = ids});
  must(leased);
  CHECK(leased->jobs.size() == ids.size());
  leased_ = std::move(leased->jobs);
}

void StoreLoop::settle() {
  std::vector<Settlement> settlements;
  settlements.reserve(leased_.size());
  for (const LeasedJob& job : leased_) settlements.push_back({.job = job.id, .token = job.token});
  for (const auto& settled : store_.jobs().settle(settlements)) must(settled);
}

}  // namespace carillon
