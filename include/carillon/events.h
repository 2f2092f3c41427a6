// What happens, as it happens: typed, to listeners, after the commit that made it true.
//
// A listener is called on the engine's own thread and must be quick. `name_of` and `to_json_line` give the names and
// shape of the event log.
#pragma once

#include <carillon/attempt_result.h>
#include <carillon/error.h>
#include <carillon/job_id.h>
#include <carillon/job_state.h>
#include <carillon/time.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace carillon {

// E1: one round that looked at what is due: once a tick, and each further one that planned something or closed what had
// reached its cutoff.
struct TickStopped {
  Duration duration{};
  std::uint64_t users_scanned = 0;       // subjects that were looked at
  std::uint64_t eligible_in_window = 0;  // deliveries, of all subjects, whose window is open and whose day is not over
  std::uint64_t enqueued = 0;
  std::uint64_t cutoff_finalized = 0;
};

// E2: jobs that are due and wait for a slot, once a tick.
struct QueueDepth {
  std::uint64_t depth = 0;
};

// E3: attempts that run, once a tick.
struct InFlight {
  std::uint32_t in_flight = 0;
  // How many may at once: fewer than there are threads where the cap for all nodes, less what workers outside hold,
  // leaves no more.
  std::uint32_t max_concurrency = 0;
};

// E4: an attempt ended as ok, error or timeout.
struct JobStopped {
  JobId job;
  std::string tenant;
  std::string type;
  std::uint32_t attempt = 1;
  Duration duration{};
  AttemptResult result = AttemptResult::ok;
  std::string error_class;
  // What a failed one said: at most 500 bytes, and without what stands in the job's payload. For logs: the event log
  // does not have it.
  std::string error;
};

// E5: an occurrence got its outcome. Of a delivery it is told as `sched.finalize`, of other kinds as `sched.outcome`.
struct Finalized {
  JobId job;  // none: it never became one
  std::string tenant;
  std::string schedule;
  std::string subject;
  Instant slot;
  JobState status = JobState::done;
  std::uint64_t count = 1;  // of a range
  // Of a delivery, and only of one: the minute of the day by which it is due (0..1439), and that day, as its schedule
  // counts them.
  std::optional<std::uint16_t> due_bucket;
  std::string today;  // 2026-03-29
};

// A job is in another state than before.
struct JobChanged {
  JobId job;
  std::string tenant;
  JobState state = JobState::queued;
};

struct JobPicked {
  JobId job;
  std::string tenant;
  std::string type;
  Duration lateness{};  // from when it was due to its claim
};

// A holder of an old lease said something: it changed nothing.
struct StaleWord {
  JobId job;
  std::string tenant;
  bool success = false;  // it would have been one: late_success; else stale_ack
};

// A job was put back, by its handler or by a gate right before its start. Or, without a job: a gate has opened that
// held so many due jobs of a queue before their claim; then `until` is when it opened. Each closing counts once for a
// job.
struct Deferred {
  JobId job;
  std::string tenant;
  std::string reason;
  std::optional<Instant> until;
  std::string queue{};
  std::uint64_t count = 1;
};

struct RateLimited {
  JobId job;
  std::string tenant;
  std::string limit;
  Instant until;
};

struct Missed {
  std::string tenant;
  std::string schedule;
  std::string subject;
  Instant first;
  std::optional<Instant> last;
  std::uint64_t count = 1;
};

struct LeaseLost {
  JobId job;
  std::string tenant;
  std::string worker;
};

// A handler ignored its timeout. Its attempt is over; its thread is not.
struct HandlerAbandoned {
  JobId job;
  std::string tenant;
  std::string type;
};

// A job that was asked for was not made: its key belongs to one that is there already.
struct EnqueueIgnored {
  JobId job;  // that one
  std::string tenant;
  std::string type;
  std::string reason;  // idempotency_key; of a follow-up also idempotency_conflict: that one has another payload
};

// The store refused a round of writes; nothing of it happened, and it is tried again.
struct StoreFailed {
  ErrorCode code = ErrorCode::unavailable;
  std::string message;
  std::uint32_t in_a_row = 1;
};

// It takes writes again.
struct StoreRecovered {
  std::uint32_t failures = 1;
  Duration after{};  // since the first of them
};

// Every subject was looked at, and what could not be was put right: in a healthy system nothing is.
struct SweepStopped {
  std::uint64_t looked_at = 0;
  std::uint64_t repaired = 0;
};

// An objective was over its threshold in so many evaluations in a row: told once, and again only after it recovered.
struct SloBreached {
  std::string slo;  // job_latency
  double value = 0;
  double threshold = 0;
  std::string unit;  // ms, ratio, jobs, leases
  Duration window{};
  std::uint32_t breaches_in_a_row = 1;
  std::string reason;                       // growth: the queue grew in every minute of the window
  std::optional<std::uint16_t> due_bucket;  // the minute of day whose deliveries missed most
};

using EventBody = std::variant<TickStopped, QueueDepth, InFlight, JobStopped, Finalized, JobChanged, JobPicked,
                               StaleWord, Deferred, RateLimited, Missed, LeaseLost, HandlerAbandoned, EnqueueIgnored,
                               StoreFailed, StoreRecovered, SweepStopped, SloBreached>;

struct Event {
  Instant at;
  EventBody body;
};

using EventListener = std::function<void(const Event&)>;

// `sched.job.stop`, `late_success`, …
std::string_view name_of(const Event& event);
// {"event": "sched.tick.stop", "at": …, "measurements": {…}, "metadata": {…}}, without a line end.
std::string to_json_line(const Event& event);

// Totals since the start, kept by what the events tell. (invariant 34)
struct Counters {
  std::uint64_t picked = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;  // attempts that ended as error or timeout
  std::uint64_t deferred = 0;
  std::uint64_t dlq = 0;      // jobs that were parked
  std::uint64_t stalled = 0;  // leases that were lost
  std::uint64_t abandoned = 0;
  std::uint64_t rate_limited = 0;
  std::uint64_t missed = 0;
  std::uint64_t late = 0;  // late_success and stale_ack
  std::uint64_t finalized = 0;
  std::uint64_t store_failures = 0;
  std::uint64_t swept = 0;     // subjects that sweeps looked at
  std::uint64_t repaired = 0;  // of these, put right
  friend bool operator==(const Counters&, const Counters&) = default;
};

}  // namespace carillon
