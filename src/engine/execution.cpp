#include "engine/execution.h"

#include <fmt/format.h>

#include <exception>

#include "engine/run_context.h"

namespace carillon {

namespace {

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

Finished execute(const RunPtr& run, const Handlers& handlers, Port& port) {
  Finished finished{.run = run};
  const BootTime boot = port.boot();
  // A holder judges its lease by its own clock and starts nothing after it (invariant 11), nor past the deadline
  // (invariant 22), nor what somebody has cancelled while it waited.
  const bool too_late = run->job.deadline && port.now() >= *run->job.deadline;
  if (boot >= run->lease_until.load() || too_late || run->stop_requested) {
    finished.how = Finished::How::not_started;
    return finished;
  }
  // Right before the effect, however long the attempt has waited since its claim (invariant 27).
  if (auto closing = port.gate(*run)) {
    finished.how = Finished::How::gated;
    finished.closing = std::move(closing);
    return finished;
  }
  run->started_at = port.now();
  run->started_boot = boot;
  finished.outcome = call_handler(run, handlers, port, finished);
  return finished;
}

}  // namespace carillon
