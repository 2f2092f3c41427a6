// What a load has asked of a store and what it was told, kept outside of it: the judge of what must be there after a
// crash (invariant 4).
//
//   const auto asked = ledger.ask({{id, facts}});      // before the call
//   ledger.acknowledge(asked);                         // after its answer
//   ledger.violations(rows_on_disk(...));              // empty, or what was lost, torn or invented
//
// A write that was asked for and not acknowledged may be there or not, but not in part.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/jobs/job_id.h"
#include "core/jobs/job_state.h"

namespace carillon::test {

// All of a job that a crash could take away.
struct JobFacts {
  JobState state = JobState::queued;  // processing: there is a lease
  std::int64_t token = 0;             // the highest that was given out
  std::int64_t attempts = 0;          // used, without the one that runs
  std::int64_t attempt_rows = 0;      // that ended without ending the job
  std::uint64_t payload_hash = 0;
  std::string key;     // idempotency key that it holds; "": none
  std::string worker;  // of the lease, or of the attempt that ended it
  friend bool operator==(const JobFacts&, const JobFacts&) = default;
};

std::string describe(const JobFacts& facts);
std::uint64_t payload_hash(std::string_view payload);

using Facts = std::map<JobId, JobFacts>;

// What is found, and what is wrong with it by itself.
struct Snapshot {
  Facts jobs;
  std::vector<std::string> faults;
};

// Any thread may call.
class Ledger {
 public:
  using Operation = std::uint64_t;

  // One write, and what it makes of each job that it touches.
  Operation ask(Facts after);
  void acknowledge(Operation operation);
  // It was answered with an error, which promises that nothing has changed.
  void refuse(Operation operation);
  // An answer that no fault explains.
  void surprise(std::string what);

  std::vector<std::string> violations(const Snapshot& found) const;
  // Takes what was in doubt as it was found. Only after `violations` had nothing to say.
  void settle_doubts(const Snapshot& found);

  JobFacts facts_of(JobId id) const;
  Facts acknowledged() const;
  std::size_t acknowledgements() const;
  std::size_t in_doubt() const;

  // Each event as a line of text, so that another process can keep the same ledger.
  void echo_to(std::function<void(const std::string&)> echo) { echo_ = std::move(echo); }
  void replay(std::string_view line);

 private:
  void emit(const std::string& line) const;
  void apply(const Facts& after);

  std::function<void(const std::string&)> echo_;

  mutable std::mutex mutex_;
  Facts acknowledged_;
  std::map<Operation, Facts> open_;  // asked, and not answered with a success
  std::vector<std::string> surprises_;
  std::size_t acknowledgements_ = 0;
  Operation last_operation_ = 0;
};

}  // namespace carillon::test
