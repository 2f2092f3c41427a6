#include "core/cadence.h"

#include <algorithm>

#include "core/jitter.h"

namespace carillon {

namespace {

// Works out times of checks. All chance in it is a hash of the subject and the slot before.
class Cadence {
 public:
  Cadence(const PlanFacts& facts, const AdaptiveTrigger& trigger, Instant now)
      : facts_(facts), trigger_(trigger), now_(now), band_(band_at(trigger, facts.expected_at, now)) {}
  Cadence(const Cadence&) = delete;
  Cadence& operator=(const Cadence&) = delete;
  ~Cadence() = default;

  const AdaptiveTrigger::Band* band() const { return band_; }

  // How far apart checks are now, by the band in force.
  Duration step(Instant slot) const {
    const Duration every = point(band_ ? band_->every : trigger_.otherwise, slot);
    return std::clamp(every, floor(), std::max(floor(), trigger_.ceiling.value_or(kDurationMax)));
  }

  // `step` after `base`, or earlier if a faster band begins before that; the floor has the last word.
  Instant bounded(Instant base, Duration step, Instant slot) const {
    Instant at = add_clamped(base, step);
    for (const AdaptiveTrigger::Band& band : trigger_.bands) {
      if (!facts_.expected_at) break;
      const Instant begin = add_clamped(*facts_.expected_at, -band.within);
      if (begin > now_) at = std::min(at, add_clamped(begin, point(band.every, slot)));
    }
    return std::max(at, add_clamped(base, floor()));
  }

  // From `from` on, so that many that were asked at the same time are not all due at the same time.
  Instant spread(Instant from, Instant slot) const {
    const Instant last = bounded(from, step(slot), slot);
    return from + hashed(last - from, slot);
  }

  // The check after that of `slot`, which is made now.
  Instant after(Instant slot) const {
    const Duration apart = step(slot);
    Instant next = bounded(slot, apart, slot);
    if (next <= now_) {
      // Late by more than a whole step: it goes on from now, and at no fixed distance from the others.
      const Duration half = apart / 2;
      next = bounded(now_, half + hashed(half, slot), slot);
    }
    return std::max(next, add_clamped(now_, floor()));
  }

 private:
  Duration floor() const { return trigger_.floor.value_or(kEveryMin); }

  Duration hashed(Duration width, Instant slot) const {
    return jitter_of(
        {.tenant = facts_.tenant, .schedule = facts_.schedule.name, .subject = facts_.subject, .slot = slot}, width);
  }

  Duration point(const CheckSpan& span, Instant slot) const { return span.min + hashed(span.max - span.min, slot); }

  const PlanFacts& facts_;
  const AdaptiveTrigger& trigger_;
  Instant now_;
  const AdaptiveTrigger::Band* band_;
};

std::optional<Instant> until_end(const Schedule& schedule, Instant at) {
  return schedule.ends_at && at > *schedule.ends_at ? std::nullopt : std::optional(at);
}

bool has_open_check(const PlanFacts& facts) {
  return std::ranges::any_of(facts.open, [](const OpenJob& job) { return is_open(job.state); });
}

NewJob job_of_check(const PlanFacts& facts, Instant slot) {
  const Schedule& schedule = facts.schedule;
  NewJob job = job_of_subject(schedule.job, facts.tenant, facts.overrides);
  job.options.origin = Origin::scheduled;
  job.options.yields = true;
  const JitterKey key{.tenant = facts.tenant, .schedule = schedule.name, .subject = facts.subject, .slot = slot};
  job.run_at = add_clamped(slot, jitter_of(key, schedule.jitter));
  job.occurrence = OccurrenceKey{.schedule = schedule.name,
                                 .subject = std::string(facts.subject),
                                 .slot = slot,
                                 .until = std::nullopt,
                                 .local_minute = local_minute_of(facts.zone.to_local(slot))};
  return job;
}

// An outage of days must not leave a row for every check that it held up.
ClosedOccurrences check_open(const PlanFacts& facts, Instant slot) {
  ClosedOccurrences closed{.first = slot,
                           .until = std::nullopt,
                           .count = 1,
                           .outcome = JobState::skipped,
                           .reason = std::string(kReasonCheckOpen),
                           .local_minute = local_minute_of(facts.zone.to_local(slot))};
  const std::optional<ClosedRange>& last = facts.last_closed;
  if (!last || last->reason != kReasonCheckOpen || facts.position != last->last) return closed;
  closed.first = last->first;
  closed.until = slot;
  closed.extends = true;
  return closed;
}

}  // namespace

const AdaptiveTrigger::Band* band_at(const AdaptiveTrigger& trigger, std::optional<Instant> expected_at, Instant now) {
  if (!expected_at) return nullptr;
  const Duration away = *expected_at > now ? *expected_at - now : now - *expected_at;
  const auto found = std::ranges::find_if(trigger.bands, [&](const auto& band) { return away <= band.within; });
  return found == trigger.bands.end() ? nullptr : &*found;
}

std::string cadence_name(const AdaptiveTrigger::Band* band) {
  return band == nullptr ? "otherwise" : format_duration(band->within);
}

SubjectPlan plan_check(const PlanFacts& facts, const AdaptiveTrigger& trigger) {
  SubjectPlan plan;
  plan.position = facts.position;
  if (!facts.next_at) return plan;
  Instant slot = *facts.next_at;
  if (facts.position) slot = std::max(slot, *facts.position + Duration(1));
  plan.next_at = until_end(facts.schedule, slot);
  if (!plan.next_at || slot > facts.now) return plan;
  if (has_open_check(facts)) {
    plan.closed.push_back(check_open(facts, slot));
  } else {
    plan.jobs.push_back(job_of_check(facts, slot));
  }
  const Cadence cadence(facts, trigger, facts.now);
  plan.position = slot;
  plan.next_at = until_end(facts.schedule, up_to_millisecond(cadence.after(slot)));
  plan.cadence = cadence_name(cadence.band());
  return plan;
}

SubjectPlan anchor_check(const PlanFacts& facts, const AdaptiveTrigger& trigger, const SubjectChange& change) {
  const Instant from = facts.schedule.starts_at ? std::max(change.at, *facts.schedule.starts_at) : change.at;
  const Cadence cadence(facts, trigger, from);
  SubjectPlan plan;
  plan.position = facts.position;
  plan.cadence = cadence_name(cadence.band());
  const Instant slot = facts.position.value_or(Instant());
  Instant next = kInstantMin;
  if (facts.position) next = cadence.bounded(slot, cadence.step(slot), slot);
  if (next <= from) {
    // It was never checked, or by now it would have been. One change after the other must not put it off for ever.
    next = cadence.spread(from, slot);
    const bool was_ahead = change.what == SubjectChange::What::edited && facts.next_at && *facts.next_at > from;
    if (was_ahead) next = std::min(next, *facts.next_at);
  }
  plan.next_at = until_end(facts.schedule, up_to_millisecond(next));
  return plan;
}

}  // namespace carillon
