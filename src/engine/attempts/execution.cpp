#include "engine/attempts/execution.h"

#include <fmt/format.h>

#include <exception>

#include "base/json_check.h"
#include "engine/attempts/run_context.h"

namespace carillon {

namespace {

// What a handler says about a failure is for people: longer than this it is cut.
constexpr std::size_t kErrorBytesMax = 10'000;

void cut(std::string& text) {
  if (text.size() <= kErrorBytesMax) return;
  constexpr std::string_view kMore = " …";
  text.resize(kErrorBytesMax - kMore.size());
  // Not in the middle of a character: back to before its first byte.
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) text.pop_back();
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0U) text.pop_back();
  text += kMore;
}

// The outcome as it can be stored.
Outcome checked(Outcome outcome) {
  cut(outcome.error);
  if (outcome.output.empty()) return outcome;
  if (const auto json = check_json(outcome.output); !json) {
    return fail(fmt::format("the output of the handler is not JSON: {}", json.error().message), "refused");
  }
  return outcome;
}

Outcome call_handler(const RunPtr& run, const Handlers& handlers, Port& port, Finished& finished) {
  const auto handler = handlers.find(run->job.type);
  if (handler == handlers.end()) {
    return fail(fmt::format("there is no handler for type \"{}\"", run->job.type), "no_handler");
  }
  try {
    RunContext context(*run, port);
    return handler->second(context);
  } catch (const AmbiguousEffect& ambiguous) {
    finished.how = Finished::How::held;
    return fail(ambiguous.what(), "ambiguous_effect");
  } catch (const std::exception& exception) {
    return fail(exception.what(), "exception");
  } catch (...) {
    return fail("the handler threw something that is no std::exception", "exception");
  }
}

}  // namespace

std::optional<Finished> refuse_to_start(const RunPtr& run, Port& port) {
  const BootTime boot = port.boot();
  // A holder judges its lease by its own clock and starts nothing after it (invariant 11), nor past the deadline
  // (invariant 22), nor what somebody has cancelled while it waited.
  const bool too_late = run->job.deadline && port.now() >= *run->job.deadline;
  if (boot >= run->lease_until.load() || too_late || run->stop_requested) {
    return Finished{.run = run, .how = Finished::How::not_started};
  }
  // Right before the effect, however long the attempt has waited since its claim (invariant 27).
  if (auto closing = port.gate(*run)) {
    return Finished{.run = run, .how = Finished::How::gated, .closing = std::move(closing)};
  }
  run->started_at = port.now();
  run->started_boot = boot;
  return std::nullopt;
}

Finished execute(const RunPtr& run, const Handlers& handlers, Port& port) {
  if (auto refused = refuse_to_start(run, port)) return *std::move(refused);
  Finished finished{.run = run};
  finished.outcome = checked(call_handler(run, handlers, port, finished));
  return finished;
}

}  // namespace carillon
