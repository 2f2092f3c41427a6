// delivery: once per local day, tried again and again in the window before a cutoff. (S0)
#include "core/kinds/delivery.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.h"
#include "core/jobs/job_fields.h"
#include "core/kinds/kind_fields.h"
#include "core/policies/jitter.h"
#include "core/triggers/preview.h"
#include "core/triggers/trigger_kind.h"

namespace carillon {

namespace {

using std::chrono::days;

// More days in a row than can be excluded, and those that a change of the clocks may take.
constexpr int kDaysScannedMax = static_cast<int>(kExcludeDatesMax) + 100;
// A longer range is counted as at least so many.
constexpr std::int64_t kDaysCountedMax = 4000;
// The local date is never further than this from that of UTC, nor is a due time from its cutoff.
constexpr days kDateSlack{3};

constexpr LocalDays kDayMin{std::chrono::year(kYearMin) / 1 / 1};
constexpr LocalDays kDayMax{std::chrono::year(kYearMax) / 12 / 31};

LocalDays utc_day(Instant at) { return LocalDays(std::chrono::floor<days>(at).time_since_epoch()); }

// Where clocks jump over `local`.
Stretch stretch_after_gap(const Zone& zone, UnixSeconds shifted, LocalSeconds local) {
  Stretch stretch = zone.stretch_at(shifted);
  while (stretch.local_before_begin() > local) stretch = zone.stretch_at(stretch.begin - std::chrono::seconds(1));
  return stretch;
}

struct ClosedAs {
  JobState outcome = JobState::missed;
  std::string_view reason;
};

ClosedOccurrences closed_day(const DeliveryDay& day, const ClosedAs& closed_as) {
  return {.first = slot_of_day(day.day),
          .until = std::nullopt,
          .count = 1,
          .outcome = closed_as.outcome,
          .reason = std::string(closed_as.reason),
          .local_minute = local_minute_of(day.due)};
}

// From `first` to `last`, both of them days of the calendar: a range for each run of days that follow one another, so
// that every day is known by its range.
void close_days(const DeliveryCalendar& calendar, const DeliveryDay& first, const DeliveryDay& last,
                const ClosedAs& closed_as, std::vector<ClosedOccurrences>& closed) {
  closed.push_back(closed_day(first, closed_as));
  LocalDays before = first.day;
  std::int64_t counted = 1;
  for (auto day = calendar.after(first.day); day && day->day <= last.day; day = calendar.after(before)) {
    if (++counted > kDaysCountedMax) {
      closed.back().until = slot_of_day(last.day);
      return;
    }
    if (day->day == before + days(1)) {
      ClosedOccurrences& range = closed.back();
      if (range.minutes.empty()) range.minutes.push_back({.local_minute = *range.local_minute, .count = 1});
      range.minutes.push_back({.local_minute = local_minute_of(day->due), .count = 1});
      range.until = slot_of_day(day->day);
      ++range.count;
    } else {
      closed.push_back(closed_day(*day, closed_as));
    }
    before = day->day;
  }
}

NewJob job_of_day(const PlanFacts& facts, const DeliveryTrigger& trigger, const DeliveryDay& day) {
  const Schedule& schedule = facts.schedule;
  NewJob job = job_of_subject(schedule.job, facts.tenant, facts.overrides);
  const Instant slot = slot_of_day(day.day);
  job.options.origin = Origin::scheduled;
  job.options.retry = RetryFixed{.delay = trigger.retry_delay};
  job.options.max_attempts = std::nullopt;
  job.deadline = day.cutoff;
  job.run_at = day.start;
  // The subject may begin inside the window: its next time says when, and nothing of it is planned before.
  const Instant begins = mutant(Mutant::first_try_on_the_grid) ? day.start : facts.next_at.value_or(day.start);
  if (trigger.spread) {
    const Duration room = day.cutoff - day.start - trigger.retry_delay - job.options.timeout;
    const JitterKey key{.tenant = facts.tenant, .schedule = schedule.name, .subject = facts.subject, .slot = slot};
    *job.run_at += jitter_of(key, std::max(room, Duration(0)));
  }
  job.run_at = std::max(*job.run_at, begins);
  job.occurrence = OccurrenceKey{.schedule = schedule.name,
                                 .subject = std::string(facts.subject),
                                 .slot = slot,
                                 .until = std::nullopt,
                                 .local_minute = local_minute_of(day.due)};
  if (mutant(Mutant::naive_utc_day)) job.occurrence->slot = slot_of_day(utc_day(day.start));
  return job;
}

// The days up to it have no occurrences, or have theirs.
std::optional<Instant> raised(std::optional<Instant> position, LocalDays day) {
  const Instant slot = slot_of_day(day);
  return position ? std::max(*position, slot) : slot;
}

}  // namespace

Instant slot_of_day(LocalDays day) { return Instant(std::chrono::sys_days(day.time_since_epoch())); }

LocalDays day_of_slot(Instant slot) { return utc_day(slot); }

DeliveryCalendar DeliveryCalendar::of(const PlanFacts& facts) {
  Options options{.trigger = std::get<DeliveryTrigger>(facts.schedule.trigger),
                  .times = {.zone = facts.zone,
                            .dst = facts.schedule.dst,
                            .created_at = {},
                            .starts_at = facts.schedule.starts_at,
                            .ends_at = facts.schedule.ends_at,
                            .exclude_dates = facts.schedule.exclude_dates}};
  if (facts.overrides.due) options.trigger.due = *facts.overrides.due;
  return DeliveryCalendar(std::move(options));
}

std::optional<DeliveryDay> DeliveryCalendar::on(LocalDays day) const {
  const Timetable::Options& times = options_.times;
  if (day < kDayMin || day > kDayMax || times.exclude_dates.contains(day)) return std::nullopt;
  DeliveryDay found{
      .day = day, .start = {}, .cutoff = {}, .due = day + std::chrono::seconds(options_.trigger.due.seconds)};
  const Zone::Mapping mapping = times.zone.resolve(found.due);
  switch (mapping.kind) {
    case Zone::Mapping::Kind::unique: found.cutoff = mapping.first; break;
    case Zone::Mapping::Kind::overlap: {
      const bool second = times.dst.overlap == DstOverlap::second;
      found.cutoff = second ? mapping.second : mapping.first;
      found.note = second ? DstNote::overlap_second : DstNote::overlap_first;
      break;
    }
    case Zone::Mapping::Kind::gap: {
      const Stretch after = stretch_after_gap(times.zone, mapping.first, found.due);
      const bool no_such_day = after.local_before_begin() <= day && after.local_begin() >= day + days(1);
      if (no_such_day || times.dst.gap == DstGap::skip) return std::nullopt;
      const bool shift = times.dst.gap == DstGap::shift;
      found.cutoff = shift ? mapping.first : after.begin;
      found.note = shift ? DstNote::gap_shifted : DstNote::gap_next_valid;
      break;
    }
  }
  if (times.starts_at && found.cutoff <= *times.starts_at) return std::nullopt;
  if (times.ends_at && found.cutoff > *times.ends_at) return std::nullopt;
  found.start = found.cutoff - options_.trigger.window;
  if (times.starts_at) found.start = std::max(found.start, *times.starts_at);
  if (found.start < kInstantMin || found.cutoff > kInstantMax) return std::nullopt;
  return found;
}

std::optional<LocalSeconds> DeliveryCalendar::skipped_on(LocalDays day) const {
  const Timetable::Options& times = options_.times;
  if (times.dst.gap != DstGap::skip || times.exclude_dates.contains(day)) return std::nullopt;
  const LocalSeconds due = day + std::chrono::seconds(options_.trigger.due.seconds);
  const Zone::Mapping mapping = times.zone.resolve(due);
  if (mapping.kind != Zone::Mapping::Kind::gap) return std::nullopt;
  const Instant at = mapping.first;
  if ((times.starts_at && at <= *times.starts_at) || (times.ends_at && at > *times.ends_at)) return std::nullopt;
  return due;
}

std::optional<DeliveryDay> DeliveryCalendar::find(LocalDays day, int step) const {
  const Timetable::Options& times = options_.times;
  for (int i = 0; i < kDaysScannedMax; ++i, day += days(step)) {
    if (times.ends_at && step > 0 && day > utc_day(*times.ends_at) + kDateSlack) return std::nullopt;
    if (times.starts_at && step < 0 && day < utc_day(*times.starts_at) - kDateSlack) return std::nullopt;
    if (const auto found = on(day)) return found;
  }
  return std::nullopt;
}

std::optional<DeliveryDay> DeliveryCalendar::after(LocalDays day) const {
  LocalDays from = std::clamp(day, kDayMin - days(1), kDayMax) + days(1);
  if (options_.times.starts_at) from = std::max(from, utc_day(*options_.times.starts_at) - kDateSlack);
  return find(from, 1);
}

std::optional<DeliveryDay> DeliveryCalendar::first_ahead(Instant at) const {
  auto found = after(utc_day(at) - kDateSlack);
  while (found && found->cutoff <= at) found = after(found->day);
  return found;
}

std::optional<DeliveryDay> DeliveryCalendar::last_passed(Instant at) const {
  auto found = find(std::min(utc_day(at) + kDateSlack, kDayMax), -1);
  while (found && found->cutoff > at) found = find(found->day - days(1), -1);
  return found;
}

std::optional<NewJob> on_cutoff_job(std::string_view tenant, const Schedule& schedule, std::string_view subject,
                                    const SubjectOverrides& overrides, const MissedDay& missed) {
  if (!schedule.on_cutoff) return std::nullopt;
  SubjectOverrides only_payload;
  only_payload.payload = overrides.payload;
  NewJob job = job_of_subject(*schedule.on_cutoff, tenant, only_payload);
  job.options.origin = Origin::dependent;
  job.options.parent = missed.parent;
  job.options.beside = BesideOccurrence{.schedule = schedule.name, .slot = missed.slot, .slot_kind = SlotKind::day};
  job.subject = subject;
  return job;
}

namespace {

// ---- Read -------------------------------------------------------------------------------------------------------

constexpr auto kDeliveryFields = field_names("kind", "due", "window", "retry_delay", "spread");
constexpr auto kDeliverySubjectFields = field_names("due");

Result<Trigger> read_delivery(std::string_view text, const JsonFields& fields) {
  DeliveryTrigger trigger;
  TRY_ASSIGN(trigger.due, required_time_of_day(text, fields, "due"));
  TRY(read_bounded(text, fields, "window", {.min = kEveryMin, .max = kDeliveryWindowEnd - std::chrono::milliseconds(1)},
                   trigger.window));
  TRY(read_bounded(text, fields, "retry_delay", {.min = kEveryMin}, trigger.retry_delay));
  TRY_ASSIGN(trigger.spread, read_flag_field(fields, "spread", false));
  return trigger;
}

Result<Trigger> read_delivery_text(std::string_view text) {
  DeliveryTrigger trigger;
  TRY_ASSIGN(trigger.due, parse_time_of_day(text));
  return trigger;
}

// ---- Plan -------------------------------------------------------------------------------------------------------

SubjectPlan anchor_delivery(const PlanFacts& facts, const SubjectChange& change) {
  const DeliveryCalendar calendar = DeliveryCalendar::of(facts);
  SubjectPlan plan;
  plan.position = facts.position;
  auto next = calendar.first_ahead(change.at);
  if (facts.position) {
    const LocalDays planned = day_of_slot(*facts.position);
    const auto later = calendar.after(planned);
    // One whose next window was still ahead loses the days between; else they lie in a pause, and are none.
    const bool was_ahead = change.what == SubjectChange::What::edited && facts.next_at && *facts.next_at > change.at;
    if (was_ahead && later && later->cutoff <= change.at) {
      const DeliveryDay last = calendar.last_passed(change.at).value_or(*later);
      close_days(calendar, *later, last, {.outcome = JobState::skipped, .reason = kReasonRescheduled}, plan.closed);
      plan.position = raised(plan.position, last.day);
    }
    if (next && next->day <= planned) next = later;
  }
  if (!next) return plan;
  // So that a later change knows which day was next.
  plan.position = raised(plan.position, next->day - days(1));
  plan.next_at = up_to_millisecond(std::max(next->start, change.at));
  return plan;
}

SubjectPlan plan_delivery(const PlanFacts& facts) {
  if (!facts.position) return anchor_delivery(facts, {.what = SubjectChange::What::made, .at = facts.now});
  const DeliveryCalendar calendar = DeliveryCalendar::of(facts);
  SubjectPlan plan;
  plan.position = facts.position;
  auto day = calendar.after(day_of_slot(*facts.position));
  if (day && day->cutoff <= facts.now) {
    // Windows that passed wholly while nobody looked: the newest is reported, none is caught up.
    const DeliveryDay newest = calendar.last_passed(facts.now).value_or(*day);
    if (const auto older = calendar.last_passed(newest.cutoff - Duration(1)); older && older->day >= day->day) {
      close_days(calendar, *day, *older, {.outcome = JobState::missed, .reason = kReasonMisfire}, plan.closed);
    }
    plan.closed.push_back(closed_day(newest, {.outcome = JobState::cutoff_reached, .reason = kReasonDeadline}));
    if (auto job = on_cutoff_job(facts.tenant, facts.schedule, facts.subject, facts.overrides,
                                 {.slot = slot_of_day(newest.day), .parent = {}})) {
      plan.follow_ups.push_back(*std::move(job));
    }
    plan.position = raised(plan.position, newest.day);
    day = calendar.after(newest.day);
  }
  if (day && day->start <= facts.now) {
    plan.jobs.push_back(job_of_day(facts, std::get<DeliveryTrigger>(facts.schedule.trigger), *day));
    plan.position = raised(plan.position, day->day);
    day = calendar.after(day->day);
  }
  if (day) plan.next_at = up_to_millisecond(day->start);
  return plan;
}

// ---- Preview ----------------------------------------------------------------------------------------------------

// Day by day, so that those which a clock change takes away are seen.
std::vector<PreviewItem> preview_days(const DeliveryCalendar& calendar, LocalDays after, Instant behind,
                                      std::size_t count) {
  std::vector<PreviewItem> items;
  const auto lost_between = [&](LocalDays begin, LocalDays end) {
    for (LocalDays day = begin + std::chrono::days(1); day < end && items.size() < count; day += std::chrono::days(1)) {
      if (const auto due = calendar.skipped_on(day)) {
        items.push_back({.at = {}, .asked = *due, .note = DstNote::gap_skipped, .day = day});
      }
    }
  };
  while (items.size() < count) {
    const auto found = calendar.after(after);
    // Past the last day a skipped one may still follow; a year ahead is far enough to show it.
    lost_between(after, found ? found->day : after + std::chrono::days(366));
    if (!found || items.size() == count) break;
    after = found->day;
    if (found->start <= behind) continue;
    items.push_back({.at = found->start,
                     .asked = found->due,
                     .note = found->note,
                     .day = found->day,
                     .begin = found->start,
                     .end = found->cutoff});
  }
  return items;
}

std::vector<PreviewItem> preview_deliveries(const PlanFacts& facts, Instant behind, std::size_t count) {
  const DeliveryCalendar calendar = DeliveryCalendar::of(facts);
  const auto first = calendar.first_ahead(facts.now);
  if (!first) return {};
  LocalDays after = first->day - std::chrono::days(1);
  if (facts.position) after = std::max(after, day_of_slot(*facts.position));
  return preview_days(calendar, after, behind, count);
}

// ---- Explain ----------------------------------------------------------------------------------------------------

std::optional<std::string> explain_open_day(const OpenSlot& slot) {
  return fmt::format("day {}", format_date(day_of_slot(slot.slot)));
}

std::optional<KindWord> explain_next_day(const SubjectNow& now) {
  const PreviewItem* const next = now.next;
  if (next == nullptr || !next->day || !next->end) return std::nullopt;
  KindWord word{.summary = fmt::format("next: day {}, from {} until its cutoff at {}", format_date(*next->day),
                                       format_instant(next->begin.value_or(*next->at)), format_instant(*next->end))};
  word.detail.text("day", format_date(*next->day)).text("cutoff", format_instant(*next->end));
  return word;
}

}  // namespace

const TriggerKind& DeliveryTrigger::kind() {
  constexpr std::string_view kOwnRule = "it has a rule of its own";
  static const TriggerKind row{.name = "delivery",
                               .traits = {.plans_by_subject = true,
                                          .has_subjects = true,
                                          .has_cutoff = true,
                                          .looks_at_open_jobs = false,
                                          .runs_open_job_now = true},
                               .fields = kDeliveryFields,
                               .read = read_delivery,
                               .shown_field = "due",
                               .example = "delivery:08:00",
                               .means = "a window before that local time each day",
                               .read_text = read_delivery_text,
                               .refused = {.misfire = kOwnRule,
                                           .overlap = kOwnRule,
                                           .jitter = "see spread of the trigger, which keeps to the window",
                                           .dst_overlap_both = "both would be two deliveries for one day",
                                           .retry = "a delivery is tried again every retry_delay, until its cutoff"},
                               .subject_fields = kDeliverySubjectFields,
                               .plan = plan_delivery,
                               .anchor = anchor_delivery,
                               .preview = preview_deliveries,
                               .explain_open = explain_open_day,
                               .explain_next = explain_next_day};
  return row;
}

}  // namespace carillon
