// Events on their way to those who listen over the network: streams, and calls that wait for a job to end.
#pragma once

#include <carillon/events.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/job_id.h"
#include "server/auth/caller.h"
#include "server/http/reply.h"

namespace carillon::server {

class EventHub {
 public:
  EventHub() = default;
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;
  ~EventHub() = default;

  // On the engine's thread.
  void hear(const Event& event);

  // It gets what the caller may see, until it is gone.
  void add(std::shared_ptr<Stream> stream, Caller caller);
  // Lines that keep quiet streams open and find those that are gone. Called every few seconds.
  void keep_alive();
  std::size_t streams() const;

  // Calls `done` once the job has ended, on the engine's thread; or never, if it was forgotten before.
  std::uint64_t when_final(JobId job, std::function<void()> done);
  void forget(std::uint64_t waiter);
  // All streams end.
  void close();

 private:
  struct Listener {
    std::shared_ptr<Stream> stream;
    Caller caller;
  };
  void tell(const Event& event);
  void tell(const std::string& text, const std::string& tenant);

  mutable std::mutex mutex_;
  std::vector<Listener> listeners_;
  struct Waiter {
    std::uint64_t number;
    std::function<void()> done;
  };
  std::unordered_map<JobId, std::vector<Waiter>> waiters_;
  std::unordered_map<std::uint64_t, JobId> waiter_jobs_;
  std::uint64_t last_ = 0;
};

}  // namespace carillon::server
