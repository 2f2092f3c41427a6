// When gates were closed, kept after they have opened: it says of every job which of them held it.
//
// A closing holds the jobs that are due meanwhile, however many they are, and nothing is written for them. Who reads a
// job looks here for the closings between the time it was due and the time it started.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/jobs/job_id.h"
#include "core/time/duration.h"
#include "core/time/instant.h"

namespace carillon {

// Of one gate; above it the oldest go.
inline constexpr std::size_t kClosingsKept = 500;

enum class GateKind : std::uint8_t { maintenance, quiet_hours, maintenance_for_all };
inline constexpr std::size_t kGateKinds = 3;
// As explain says it: maintenance, quiet_hours, maintenance:all.
std::string_view to_string(GateKind gate);
std::optional<GateKind> gate_kind(std::string_view name);

struct PastClosing {
  GateKind gate = GateKind::maintenance;
  Instant closed_at;
  std::optional<Instant> until;      // as it was known when it was last looked at; nothing: until it is lifted
  std::optional<Instant> opened_at;  // nothing: it is closed still
  friend bool operator==(const PastClosing&, const PastClosing&) = default;
};

// A job that waits, or has waited: from when it was due until it started, or until now.
struct GateWait {
  JobId job;
  bool notifies = false;
  Instant due;
  Instant until;
};

// A closing that held it.
struct GateHeld {
  GateKind gate = GateKind::maintenance;
  Instant from;                  // when it began to hold the job
  std::optional<Instant> until;  // when it ended, or will end
  Instant closed_at;
  std::optional<Instant> opened_at;
};

// Those of `closings`, in the order of `closed_at`, that held it. One that it was let go by holds it until its turn in
// the release comes: another that opens before that does not hold it at all.
std::vector<GateHeld> closings_that_held(std::span<const PastClosing> closings, const GateWait& wait);
// The same of two lists: the tenant's, and that for all.
std::vector<GateHeld> closings_that_held(std::span<const PastClosing> own, std::span<const PastClosing> for_all,
                                         const GateWait& wait);

// A deferral that is on record.
struct PastDeferral {
  std::string_view reason;
  Instant at;
};

// Which record is about each closing, if one is: it counts once. A job that a gate put back says `maintenance`,
// whoever that was of.
std::vector<std::optional<std::size_t>> records_of(std::span<const GateHeld> held,
                                                   std::span<const PastDeferral> records);

}  // namespace carillon
