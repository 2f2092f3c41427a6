// What a handler is given: its job, and what it may ask while it runs. Valid until the handler returns; one thread.
#pragma once

#include <carillon/error.h>
#include <carillon/job_info.h>
#include <carillon/json.h>
#include <carillon/outcome.h>
#include <carillon/time.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace carillon {

// The job as it was leased: all that is known of it but its earlier attempts, and what caused this one. Its `token`
// fences the attempt and rises with every claim; `timeout` is the one that holds.
struct RunningJob : JobInfo {
  std::string trigger;  // the job's origin for its first attempt, then `retry`
};

// As workers outside get it: the object `job` of the documentation without `attempts`, with `trigger`.
std::string to_json(const RunningJob& job);

// A gate that is closed for this job now.
struct GateClosing {
  std::string reason;
  std::optional<Instant> until;  // nothing: until it is lifted
};

enum class OnceResult : std::uint8_t {
  done_now,        // the effect ran, and that is recorded
  done_before,     // it was recorded by an earlier attempt: nothing ran
  ambiguous_rerun  // an earlier attempt began it and said no more; the job says retry, so it ran again
};

class JobContext {
 public:
  JobContext() = default;
  JobContext(const JobContext&) = delete;
  JobContext& operator=(const JobContext&) = delete;
  virtual ~JobContext() = default;

  virtual const RunningJob& job() const = 0;
  virtual const JsonValue& payload() const = 0;
  std::uint32_t attempt() const { return job().attempt; }

  // Runs `effect` unless an earlier attempt has done so under this key. The key is the tenant's. An effect that throws
  // is taken as not done. If an earlier attempt may or may not have done it (invariant 18), the job's `on_ambiguous`
  // decides: run again, or stop here and park the job.
  // Throws (and so ends the attempt) when the lease is no longer ours, when another job is doing the same effect at
  // this moment, or when the store cannot be written.
  virtual OnceResult once(std::string_view key, const std::function<void()>& effect) = 0;

  // Whether to stop: cancelled by someone, timed out, lease lost, or the engine wants to end.
  virtual bool cancelled() const = 0;
  // Tells how far it is; JSON. The lease is renewed without it.
  virtual void heartbeat(std::string_view progress) = 0;
  // A gate that has closed since the start; ask right before an effect that must not happen then.
  virtual std::optional<GateClosing> check_gates() const = 0;
};

using Handler = std::function<Outcome(JobContext&)>;

}  // namespace carillon
