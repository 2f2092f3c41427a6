// Events on their way to those who listen over the network: streams, and calls that wait for a job to end.
//
// The engine's thread only puts events into a ring; one thread of the hub writes them as text, once, and gives each
// stream what its caller may see, in rounds, so that the net thread has time for everybody else:
// - A round is bounded (`round_bytes`), and every stream with something to read gets a turn before any gets a second.
// - A stream that does not read is given nothing more once it has its share of `unsent_bytes` unsent, 1 MiB at most. It
//   is cut off when the hub cannot keep what it has not read.
// - A stream that was not told everything (the ring was full, or the hub could not keep up) is told `events.lost`.
// Calls that wait for a job lose nothing: they do not stand in the ring.
#pragma once

#include <carillon/events.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/bell.h"
#include "core/jobs/job_id.h"
#include "core/time/instant.h"
#include "server/api/event_backlog.h"
#include "server/api/event_ring.h"
#include "server/api/job_waiters.h"
#include "server/auth/caller.h"
#include "server/http/reply.h"

namespace carillon::server {

class EventHub {
 public:
  struct Options {
    std::size_t streams_of_key = 32;
    std::size_t streams_max = 1'000;
    std::size_t ring_events = 32'768;
    std::size_t backlog_bytes = std::size_t{16} << 20U;      // told, and kept for those who are not as far yet
    std::size_t unsent_of_stream = std::size_t{896} << 10U;  // the server cuts a stream off at 1 MiB
    std::size_t unsent_bytes = std::size_t{64} << 20U;       // of all streams
    std::size_t round_bytes = std::size_t{256} << 10U;
    std::chrono::milliseconds round_time = std::chrono::milliseconds(4);  // from one round to the next
  };

  EventHub() : EventHub(Options()) {}
  explicit EventHub(const Options& options);
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;
  // Stops, if that was not done.
  ~EventHub();

  // On the engine's thread. Never waits.
  void hear(const Event& event);

  enum class Room : std::uint8_t { found, key_has_enough, all_taken };
  using Open = std::function<std::shared_ptr<Stream>()>;
  // If there is room for one more, opens it; it gets what the caller may see, until it is gone.
  Room add(const Caller& caller, const Open& open);
  const Options& options() const { return options_; }
  // Lines that keep quiet streams open and find those that are gone. Called every few seconds.
  void keep_alive();
  std::size_t streams() const { return listening_; }

  // Calls `done` once the job has ended, on the hub's thread; or never, if it was forgotten before.
  std::uint64_t when_final(JobId job, std::function<void()> done) { return waiters_.add(job, std::move(done)); }
  void forget(std::uint64_t waiter) { waiters_.forget(waiter); }

  // All streams end, and none is opened any more.
  void close();
  // Nobody is called from now on.
  void stop();

 private:
  // Those who may see the same.
  struct Audience {
    TenantSet tenants;
    EventBacklog::Piece piece;  // read last: streams that are equally far are given the same

    bool may_see(std::string_view tenant) const { return tenant.empty() ? tenants.is_all() : tenants.has(tenant); }
  };
  using Audiences = std::vector<std::shared_ptr<Audience>>;
  struct Listener {
    std::shared_ptr<Stream> stream;
    std::string key;
    std::shared_ptr<Audience> audience;
    std::uint64_t at = 0;  // its place in the backlog
  };
  enum class Turn : std::uint8_t {
    quiet,    // there was nothing to tell
    waits,    // its client has enough to read
    written,  // or its place moved on
    over,
  };

  void work();
  void wake();
  // The ring's events become text. Whether there were any.
  bool take_events();
  struct Served {
    bool is_behind = false;  // somebody could be told more at once
    bool waits = false;      // somebody could be told more, but must read first
  };
  Served serve();
  Turn serve(Listener& listener, std::size_t& room);
  const EventBacklog::Piece& piece_for(const Listener& listener);
  std::size_t unsent_share() const;
  void forget_listener(std::size_t index);
  void forget_gone();
  std::shared_ptr<Audience> audience_of(const TenantSet& tenants);
  void tell_on_driver(const Event& event);

  const Options options_;
  EventRing ring_;
  std::atomic<bool> overflowed_ = false;  // the ring, since events were taken last
  JobWaiters waiters_;

  std::mutex mutex_;  // never locked by the engine's thread
  std::vector<Listener> listeners_;
  Audiences audiences_;
  EventBacklog backlog_;
  std::size_t next_ = 0;  // who has the first turn
  bool closed_ = false;
  std::atomic<std::size_t> listening_ = 0;

  std::atomic<bool> keep_alive_ = false;
  Instant last_at_;  // of the last event; the hub's thread
  std::atomic<bool> asleep_ = false;
  std::atomic<bool> stopping_ = false;
  Bell bell_;
  std::thread thread_;
};

}  // namespace carillon::server
