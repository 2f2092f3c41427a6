// An engine on a SQLite file of its own, whose handlers do nothing but note that they were called.
#pragma once

#include <carillon/engine.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace carillon {

class IdleHandlers {
 public:
  static constexpr int kBatch = 1000;

  explicit IdleHandlers(const std::string& path);
  IdleHandlers(const IdleHandlers&) = delete;
  IdleHandlers& operator=(const IdleHandlers&) = delete;
  ~IdleHandlers() = default;

  Client& client() { return engine_.client(); }
  std::uint64_t succeeded() const { return engine_.counters().succeeded; }

  // Jobs of one tenant, all due at the same time, ten batches per transaction.
  void fill(const std::string& tenant, std::int64_t count, RunAt run_at = {});

  // Life cycles per second in steady state: jobs are enqueued in batches while others drain. Ends with nothing left.
  double life_cycles(int count);

  // From the call to the handler, in microseconds.
  double pick_up();

  // How late each of `count` jobs started that are all due at the same instant, `lead` from now; in seconds.
  std::vector<double> herd(int count, Duration lead);

  // Until so many due jobs are in memory.
  void wait_for_depth(std::uint64_t depth);

 private:
  void wait_until_succeeded(std::uint64_t total) const;

  StorePtr store_;
  const std::string payload_;
  std::vector<JobRequest> batch_;

  std::atomic<std::int64_t> entered_us_ = 0;  // of the last `pick_up`
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t depth_ = 0;
  std::vector<double> lateness_;

  Engine engine_;  // last: its threads use the above
};

}  // namespace carillon
