// Deliveries: one outcome per subject and day. The job of a day exists from the start of its window on and ends at the
// cutoff, which is the subject's due time on that day; the window may begin on the day before.
//
// The slot of a day is its midnight in UTC, whatever the zone: however often the due time or the zone changes, a day
// comes once.
#pragma once

#include <optional>

#include "core/schedules/plan.h"

namespace carillon {

struct DeliveryDay {
  LocalDays day;
  Instant start;
  Instant cutoff;
  LocalSeconds due;  // what was asked for: day and due time
  DstNote note = DstNote::none;
};

// The days of one subject.
class DeliveryCalendar {
 public:
  struct Options {
    DeliveryTrigger trigger;  // with the subject's own due time
    Timetable::Options times;
  };
  explicit DeliveryCalendar(Options options) : options_(std::move(options)) {}
  static DeliveryCalendar of(const PlanFacts& facts);

  // That day, unless it has no delivery: it does not exist in the zone, a gap takes its due time and the policy skips
  // it, it is excluded, or its cutoff lies at or before starts_at or after ends_at. A start before starts_at is
  // starts_at.
  std::optional<DeliveryDay> on(LocalDays day) const;
  // The first one after `day`.
  std::optional<DeliveryDay> after(LocalDays day) const;
  // The first one whose cutoff lies after `at`.
  std::optional<DeliveryDay> first_ahead(Instant at) const;
  // The newest one whose cutoff does not.
  std::optional<DeliveryDay> last_passed(Instant at) const;

  // A due time that a clock change skips, and the policy with it.
  std::optional<LocalSeconds> skipped_on(LocalDays day) const;

 private:
  std::optional<DeliveryDay> find(LocalDays day, int step) const;

  Options options_;
};

Instant slot_of_day(LocalDays day);
LocalDays day_of_slot(Instant slot);

// What follows a day that was not delivered; nothing if the schedule has no on_cutoff. The subject's payload is merged
// over that of on_cutoff.
struct MissedDay {
  Instant slot;
  JobId parent;  // the day's job, if it ever had one
};
std::optional<NewJob> on_cutoff_job(std::string_view tenant, const Schedule& schedule, std::string_view subject,
                                    const SubjectOverrides& overrides, const MissedDay& missed);

}  // namespace carillon
