// What a handler says at the end of an attempt.
//
//   return done();
//   return fail("the provider answered 500", "req");
//   return done(R"({"sent":3})").then({.type = "report.build"});
#pragma once

#include <carillon/job_request.h>
#include <carillon/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace carillon {

class Outcome {
 public:
  enum class Kind : std::uint8_t { done, skipped, failed, permanent, deferred, rate_limited };

  Kind kind = Kind::done;
  std::string output;          // JSON, of done
  std::string stderr_text;     // of done: what a program said besides
  std::string reason;          // of skipped and deferred
  std::string error;           // of failed and permanent
  std::string error_class;     // a short word: req, llm, parse, …
  bool timed_out = false;      // of failed: the attempt ends as timeout, not as error
  std::optional<RunAt> again;  // of failed: instead of the policy's time; of deferred and rate_limited: when
  std::string limit;           // of rate_limited: which of the job's limits; "": the first
  std::vector<JobRequest> follow_ups;
  std::optional<Instant> expected_at;  // of the job's subject
  bool forgets_expected_at = false;    // it is not known any more
  std::optional<std::string> status;

  // A job that is created in the transaction that completes this one, and only if that is done or skipped.
  Outcome then(JobRequest follow_up) && {
    follow_ups.push_back(std::move(follow_up));
    return std::move(*this);
  }
  Outcome subject_expects(Instant at) && {
    expected_at = at;
    forgets_expected_at = false;
    return std::move(*this);
  }
  Outcome subject_expects_nothing() && {
    expected_at.reset();
    forgets_expected_at = true;
    return std::move(*this);
  }
  Outcome subject_status(std::string word) && {
    status = std::move(word);
    return std::move(*this);
  }
};

inline Outcome done(std::string output = {}) {
  Outcome outcome;
  outcome.output = std::move(output);
  return outcome;
}

// There was nothing to do. Final, and no failure.
inline Outcome skipped(std::string reason) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::skipped;
  outcome.reason = std::move(reason);
  return outcome;
}

inline Outcome fail(std::string error, std::string error_class = "unknown") {
  Outcome outcome;
  outcome.kind = Outcome::Kind::failed;
  outcome.error = std::move(error);
  outcome.error_class = std::move(error_class);
  return outcome;
}

// A failed attempt that ran out of time.
inline Outcome timed_out(std::string error) {
  Outcome outcome = fail(std::move(error), "timeout");
  outcome.timed_out = true;
  return outcome;
}

// Trying again is pointless: straight to the DLQ.
inline Outcome permanent(std::string error, std::string error_class = "unknown") {
  Outcome outcome = fail(std::move(error), std::move(error_class));
  outcome.kind = Outcome::Kind::permanent;
  return outcome;
}

// A failed attempt whose next one is due then, whatever the retry policy says.
inline Outcome retry_after(Duration delay, std::string error = "asked to come again",
                           std::string error_class = "unknown") {
  Outcome outcome = fail(std::move(error), std::move(error_class));
  outcome.again = in(delay);
  return outcome;
}

// Put back until then: no failure, no attempt used.
inline Outcome defer(RunAt until, std::string reason) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::deferred;
  outcome.again = until;
  outcome.reason = std::move(reason);
  return outcome;
}

// The provider asked for a pause: nothing under this limit starts before then, and its rate halves for a while.
inline Outcome rate_limited(std::string limit, std::optional<RunAt> until = std::nullopt) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::rate_limited;
  outcome.limit = std::move(limit);
  outcome.again = until;
  return outcome;
}

}  // namespace carillon
