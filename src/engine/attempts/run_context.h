// What a handler is given.
#pragma once

#include <carillon/job_context.h>

#include <stdexcept>

#include "engine/attempts/port.h"

namespace carillon {

// An earlier attempt may or may not have had the effect, and the job says hold. (invariant 18)
class AmbiguousEffect : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class RunContext final : public JobContext {
 public:
  RunContext(Run& run, Port& port);
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;
  ~RunContext() override = default;

  const RunningJob& job() const override;
  const JsonValue& payload() const override;
  OnceResult once(std::string_view key, const std::function<void()>& effect) override;
  bool cancelled() const override;
  void heartbeat(std::string_view progress) override;
  std::optional<GateClosing> check_gates() const override;

 private:
  Run& run_;
  Port& port_;
  mutable std::optional<RunningJob> job_;
  mutable std::optional<JsonValue> payload_;
};

}  // namespace carillon
