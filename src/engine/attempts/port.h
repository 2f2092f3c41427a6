// What a running attempt may ask of its node, from its own thread. A node that ends closes its port, so that a handler
// which outlives it asks in vain instead of asking the dead.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/policies/gate.h"
#include "core/settings/job_defaults.h"
#include "engine/attempts/run.h"

namespace carillon {

class Port {
 public:
  Port() = default;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  virtual ~Port() = default;

  virtual BootTime boot() const = 0;
  virtual Instant now() const = 0;
  virtual std::optional<Closing> gate(const Run& run) const = 0;
  // What a job gets that says nothing.
  virtual JobDefaults job_defaults() const = 0;
  virtual Result<EffectClaim> claim_effect(const Run& run, std::string_view key) = 0;
  virtual Result<void> effect_done(const Run& run, std::string_view key) = 0;
  virtual Result<void> effect_undone(const Run& run, std::string_view key) = 0;
};

}  // namespace carillon
