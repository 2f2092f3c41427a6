#include "engine/attempts/run_context.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_check.h"
#include "engine/calls/job_info.h"

namespace carillon {

namespace {

template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace

RunContext::RunContext(Run& run, Port& port) : run_(run), port_(port) {}

const RunningJob& RunContext::job() const {
  if (!job_) job_ = value_or_throw(running_job_of(run_));
  return *job_;
}

const JsonValue& RunContext::payload() const {
  if (!payload_) payload_ = value_or_throw(JsonValue::parse(run_.job.payload));
  return *payload_;
}

OnceResult RunContext::once(std::string_view key, const std::function<void()>& effect) {
  const EffectClaim claim = value_or_throw(port_.claim_effect(run_, key));
  OnceResult result = OnceResult::done_now;
  switch (claim.kind) {
    case EffectClaim::Kind::done: return OnceResult::done_before;
    case EffectClaim::Kind::first: break;
    case EffectClaim::Kind::unknown:
      // Another job is at it this very moment: this attempt comes again and will know.
      if (claim.is_under_way) throw std::runtime_error(fmt::format("the effect \"{}\" is under way elsewhere", key));
      if (run_.job.on_ambiguous == OnAmbiguous::hold) {
        throw AmbiguousEffect(
            fmt::format("an earlier attempt began the effect \"{}\" and did not say how it ended", key));
      }
      result = OnceResult::ambiguous_rerun;
      break;
  }
  // A handler that was stopped for longer than its lease must not act any more (invariant 11).
  if (port_.boot() >= run_.lease_until.load()) throw std::runtime_error("the lease ran out before the effect");
  try {
    effect();
  } catch (...) {
    // It threw, so it did not happen: the next attempt may try again. If that cannot be written, it is ambiguous.
    [[maybe_unused]] const Result<void> undone = port_.effect_undone(run_, key);
    throw;
  }
  value_or_throw(port_.effect_done(run_, key));
  return result;
}

bool RunContext::cancelled() const { return run_.stop_requested || port_.boot() >= run_.lease_until.load(); }

void RunContext::heartbeat(std::string_view progress) {
  // What is no JSON is shown as the text that it is: a report must not end the work that it is about.
  run_.set_progress(check_json(progress) ? std::string(progress) : json_string(progress));
}

std::optional<GateClosing> RunContext::check_gates() const {
  const auto closing = port_.gate(run_);
  if (!closing) return std::nullopt;
  return GateClosing{.reason = closing->reason, .until = closing->until};
}

}  // namespace carillon
