#include "engine/planning/follow_ups.h"

#include <array>
#include <set>

#include "base/mutant.h"
#include "core/kinds/delivery.h"

namespace carillon {

namespace {

// What follows is made without them rather than not at all, should they have become unreadable: a zone that is gone.
SubjectOverrides overrides_of(const SubjectRow& subject) {
  auto overrides = read_overrides(subject.overrides);
  return overrides ? *std::move(overrides) : SubjectOverrides{};
}

bool is_by_hand(const LeasedJob& job) {
  const auto options = job.options.read();
  return options && options->origin == Origin::manual;
}

}  // namespace

Result<void> FollowUps::parent_done(Round& round, const LeasedJob& parent) {
  if (!parent.occurrence_of || !parent.slot) return {};
  const std::set<ScheduleId>* const followers = index_.followers_of(parent.tenant, parent.schedule);
  if (followers == nullptr || is_by_hand(parent)) return {};
  for (const ScheduleId id : *followers) {
    const auto row = store_.plans().schedule(id);
    if (!row || !runs_at(*row, round.now)) continue;
    const auto compiled = compiler_.compile(*row);
    const auto subject = store_.plans().subject(id, parent.occurrence_of->subject);
    if (!compiled || !subject || !subject->enabled) continue;
    // What is stored decides: it may have been edited in this very round.
    const std::string* const followed = followed_by((*compiled)->schedule);
    if (!followed || *followed != parent.schedule) continue;
    Advance advance{.schedule = id,
                    .subject = subject->subject,
                    .version = subject->version,
                    .jobs = {plan_after(parent.tenant, (*compiled)->schedule, subject->subject, *parent.slot, parent.id,
                                        overrides_of(*subject))}};
    if (mutant(Mutant::dependents_fire_twice)) {
      advance.jobs.push_back(advance.jobs.front());
      advance.jobs.back().occurrence->slot += Duration(1);
    }
    const auto advanced = std::move(store_.plans().advance(std::array{advance}).front());
    // Refused: it was made before, by a call whose answer was lost.
    if (advanced) subjects_.note_advanced(round, *row, advance.jobs, *advanced);
  }
  return {};
}

Result<void> FollowUps::subject_learnt(Round& round, const LeasedJob& job) {
  if (!job.occurrence_of) return {};
  const auto row = store_.plans().schedule(job.tenant, job.schedule);
  if (!row) return {};
  const auto compiled = compiler_.compile(*row);
  auto subject = store_.plans().subject(row->id, job.occurrence_of->subject);
  if (!compiled || !subject || !subject->next_at) return {};
  if (!traits_of((*compiled)->schedule).has_expected_time) return {};
  return learnt(round, {*row, **compiled}, *std::move(subject));
}

// What is due already is due by what was known before (invariant 3).
Result<void> FollowUps::learnt(Round& round, const Ruling& ruling, SubjectRow subject) {
  if (runs_at(ruling.row, round.now) && subject.next_at && *subject.next_at <= round.now) {
    TRY(due_.plan_subject(round, ruling, subject));
    TRY_ASSIGN(subject, store_.plans().subject(subject.schedule, subject.subject));
  }
  TRY(subjects_.anchor_or_set_aside(round, ruling, subject,
                                    {.what = SubjectChange::What::edited, .at = round.now, .cursor_end = {}}));
  return index_.remember(round, ruling.row);
}

Result<void> FollowUps::follow(Round& round) {
  for (;;) {
    const std::vector<FinalizedSlot> slots = store_.plans().finalized_after(round.followed);
    const std::vector<OutcomeKey> parked = store_.plans().parked_after(round.followed_parked);
    if (slots.empty() && parked.empty()) return {};
    round.followed += slots.size();
    round.followed_parked += parked.size();
    for (const FinalizedSlot& slot : slots) {
      if (index_.known_traits(slot.id).follows_outcomes) TRY(follow_slot(round, slot));
    }
    for (const OutcomeKey& key : parked) {
      if (index_.known_traits(key.schedule).follows_outcomes) TRY(open_windows_again(round, key.schedule, key.subject));
    }
  }
}

Result<void> FollowUps::follow_slot(Round& round, const FinalizedSlot& slot) {
  if (!index_.is_delivery(slot.id)) return open_windows_again(round, slot.id, slot.subject);
  // A day that closes without a job brings its own along: see SubjectPlan::follow_ups.
  if (slot.outcome != JobState::cutoff_reached || !slot.job) return {};
  const auto row = store_.plans().schedule(slot.id);
  const auto subject = store_.plans().subject(slot.id, slot.subject);
  if (!row || !subject) return {};
  const auto compiled = compiler_.compile(*row);
  if (!compiled) return {};
  const auto job = on_cutoff_job(row->tenant, (*compiled)->schedule, slot.subject, overrides_of(*subject),
                                 {.slot = slot.slot, .parent = slot.job});
  if (!job) return {};
  const auto made = subjects_.enqueue(round, *job);
  // It was checked when the schedule was put; a refusal must not hold up the outcome.
  if (!made && made.error().code == ErrorCode::unavailable) return std::unexpected(made.error());
  return {};
}

// As many as may be were open; now one is closed.
Result<void> FollowUps::open_windows_again(Round& round, ScheduleId schedule, std::string_view name) {
  const auto row = store_.plans().schedule(schedule);
  const auto subject = store_.plans().subject(schedule, name);
  if (!row || !subject || subject->next_at || !subject->enabled) return {};
  const auto compiled = compiler_.compile(*row);
  if (!compiled || !traits_of((*compiled)->schedule).keeps_cursor) return {};
  const Ruling ruling{*row, **compiled};
  if (runs_at(*row, round.now)) {
    TRY(subjects_.plan(round, ruling, *subject, round.now));
  } else {
    TRY(subjects_.anchor_or_set_aside(round, ruling, *subject,
                                      {.what = SubjectChange::What::edited, .at = round.now, .cursor_end = {}}));
  }
  return index_.remember(round, *row);
}

Result<bool> FollowUps::put_right(Round& round, const SweptSubject& swept) {
  const SubjectRow& subject = swept.row;
  const auto row = store_.plans().schedule(subject.schedule);
  if (!row || !runs_at(*row, round.now)) return false;
  if (swept.is_late) {
    // Much may be due at once. But then the planner knows of it.
    const bool is_known = index_.is_due(row->id, round.now);
    if (!is_known) TRY(index_.remember(round, *row));
    return !is_known;
  }
  if (!swept.has_no_time) return false;
  const auto compiled = compiler_.compile(*row);
  if (!compiled) return false;
  TRY(subjects_.anchor_or_set_aside(round, {*row, **compiled}, subject,
                                    {.what = SubjectChange::What::edited, .at = round.now, .cursor_end = {}}));
  const auto now = store_.plans().subject(subject.schedule, subject.subject);
  if (!now || !now->next_at) return false;  // rightly so: it is over, or as many windows are open as may be
  TRY(index_.remember(round, *row));
  return true;
}

}  // namespace carillon
