#include "engine/telling/outcomes.h"

#include "core/schedules/schedule.h"
#include "store/local_minute.h"

namespace carillon {

void Outcomes::tell_ended(Round& round) {
  for (Changed& job : store_.jobs().ended_along()) {
    round.tell(JobChanged{.job = job.id, .tenant = std::move(job.tenant), .state = job.state});
  }
  gates_.tell_deferred(round);
  ScheduleId known;  // many of one schedule stand together
  bool known_is_delivery = false;
  for (FinalizedSlot& slot : store_.plans().finalized()) {
    if (slot.id != known) {
      known = slot.id;
      known_is_delivery = is_delivery(slot);
    }
    const auto count = static_cast<std::uint64_t>(slot.count);
    std::optional<std::uint16_t> due_bucket;
    std::string today;
    if (known_is_delivery) {
      const DayMinute due = day_minute_of(slot.local_minute);
      due_bucket = static_cast<std::uint16_t>(due.minute);
      today = format_date(LocalDays(std::chrono::days(due.day)));
      if (slot.job) --round.open_days[{slot.id, due.day}];
    }
    if (slot.outcome == JobState::cutoff_reached) round.tick.cutoff_finalized += count;
    if (slot.outcome == JobState::missed) {
      round.tell(Missed{.tenant = slot.tenant,
                        .schedule = slot.schedule,
                        .subject = slot.subject,
                        .first = slot.slot,
                        .last = slot.until,
                        .count = count});
    }
    round.tell(Finalized{.job = slot.job,
                         .tenant = std::move(slot.tenant),
                         .schedule = std::move(slot.schedule),
                         .subject = std::move(slot.subject),
                         .slot = slot.slot,
                         .status = slot.outcome,
                         .count = count,
                         .due_bucket = due_bucket,
                         .today = std::move(today)});
  }
}

void Outcomes::tell_tick(Round& round) const {
  TickStopped& tick = round.tick;
  tick.eligible_in_window = planner_.open_days(round);
  if (round.is_tick || tick.users_scanned > 0 || tick.enqueued > 0 || tick.cutoff_finalized > 0) round.tell(tick);
}

bool Outcomes::is_delivery(const FinalizedSlot& slot) {
  if (!slot.deleted) return planner_.is_delivery(slot.id);
  const auto row = store_.plans().deleted_schedule(slot.id);
  if (!row) return false;
  const auto schedule = parse_schedule(row->definition);
  return schedule && traits_of(*schedule).has_cutoff;
}

}  // namespace carillon
