// Whether this server can do its work now: the store takes writes, the planner's thread is alive, and it is not behind.
//
// Each is tried and not guessed. A small document is written through the engine: if its commit fails, the store does
// not take writes; if no answer comes, the thread that plans and starts jobs stands.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "engine/host/engine_host.h"

namespace carillon::server {

struct Readiness {
  // What is wrong; nothing: it is well.
  std::optional<std::string> store;
  std::optional<std::string> planner;
  std::optional<std::string> lag;

  bool loaded = false;                  // all due jobs are in memory
  std::optional<Duration> last_commit;  // how long ago
  std::optional<Duration> planner_lag;  // how late the planner is; nothing: not known
  std::optional<Duration> oldest_due;   // how long the job that waits longest has been due; nothing: none waits

  bool is_ready() const { return !store && !planner && !lag; }
  // The first that is wrong.
  std::string message() const;
};

// {"store": {"ok": …, "message": …}, "planner": {…}, "lag": {…}}
std::string checks_json(const Readiness& readiness);

class ReadinessCheck {
 public:
  struct Options {
    std::chrono::milliseconds patience = std::chrono::seconds(2);
    // Who asks again within this gets the same answer: each look costs a write.
    std::chrono::milliseconds fresh = std::chrono::seconds(1);
    // Later than this, occurrences are misfires.
    Duration lag_max = std::chrono::minutes(1);
  };
  explicit ReadinessCheck(EngineHost& host) : ReadinessCheck(host, Options()) {}
  ReadinessCheck(EngineHost& host, Options options) : host_(host), options_(options) {}
  ReadinessCheck(const ReadinessCheck&) = delete;
  ReadinessCheck& operator=(const ReadinessCheck&) = delete;
  ~ReadinessCheck() = default;

  // Any thread but the engine's own.
  Readiness look();

 private:
  Readiness try_it();

  EngineHost& host_;
  const Options options_;

  std::mutex mutex_;  // held while it looks, so that many who ask cause one write
  std::optional<std::chrono::steady_clock::time_point> looked_at_;
  Readiness last_;
};

}  // namespace carillon::server
