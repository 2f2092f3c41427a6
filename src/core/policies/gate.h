// Rules that hold a job back right before an attempt: maintenance, and the quiet hours of its tenant.
//
// A gate is closed or open at an instant; when it is closed it says why, and until when if that is known. It changes no
// job: the engine decides what becomes of a job that meets a closed gate.
//
// Quiet hours are what people read off a clock on the wall: they begin when it first reaches `start`, and end when it
// has been before `end` for the last time. So no instant at which the clock shows a quiet time is ever open:
//
//   the clock skips `start`        they begin with the change
//   the clock skips `end`          they end as late as they would have, had the clock not changed
//   the clock skips both at once   that day has none
//   the clock shows `start` twice  they begin at the first
//   the clock shows `end` twice    they end at the second, and stay quiet in between; but at the first if the clock is
//                                  set back exactly to `end`, as no quiet time is shown again
//
// Hours of two days that touch or overlap, as they can around a change, are one: `until` is the first instant that is
// open.
#pragma once

#include <optional>
#include <string>

#include "core/jobs/job_id.h"
#include "core/settings/settings.h"
#include "core/time/duration.h"
#include "core/time/instant.h"
#include "core/time/zone.h"

namespace carillon {

// All that the gates before one tenant's jobs depend on, besides the time.
struct GateFacts {
  const TenantSettings* settings = nullptr;        // nothing: all defaults
  Zone tenant_zone = Zone::utc();                  // of quiet hours that name none
  std::optional<Maintenance> maintenance;          // the tenant's
  std::optional<Maintenance> maintenance_for_all;  // everybody's
};

struct Closing {
  std::string reason;            // "maintenance" or "quiet_hours", as jobs show it
  std::optional<Instant> until;  // the first instant that is open; nothing: until it is lifted
  friend bool operator==(const Closing&, const Closing&) = default;
};

// Whether maintenance closes at `now`; one whose `until` has come does not.
std::optional<Closing> maintenance_at(const std::optional<Maintenance>& maintenance, Instant now);

// Whether `quiet` closes at `now`, by clocks of `zone`: its own zone, if it names one, is the caller's to load.
std::optional<Closing> quiet_at(const QuietHours& quiet, const Zone& zone, Instant now);

// Since when they have been closed; they are at `now`.
std::optional<Instant> quiet_since(const QuietHours& quiet, const Zone& zone, Instant now);

// The next instant after `now` at which quiet_at changes from open to closed or back; what it says holds until then.
// Nothing: no more, the calendar ends.
std::optional<Instant> quiet_changes_after(const QuietHours& quiet, const Zone& zone, Instant now);

// The zone that the quiet hours of a tenant follow: their own, else the tenant's.
Zone quiet_zone(const QuietHours& quiet, const Zone& tenant_zone);

// The closing that holds longest: an endless one before all, else the later end, else maintenance before quiet hours.
// `notifies`: the job disturbs people; quiet hours apply to no other.
std::optional<Closing> closed_for(const GateFacts& facts, bool notifies, Instant now);

// Over how long jobs that a gate held are spread when it opens.
inline constexpr Duration kReleaseSpread = std::chrono::seconds(3);

// How long after the gate opens a job that it held may run: from nothing to kReleaseSpread, by a hash of its id, so
// that it is the same after a restart.
Duration release_delay(JobId job);

}  // namespace carillon
