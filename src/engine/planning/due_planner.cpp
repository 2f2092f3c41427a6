#include "engine/planning/due_planner.h"

#include <algorithm>

namespace carillon {

namespace {

// Subjects planned in one round, over all schedules. A round is what others wait for at most.
constexpr std::size_t kSubjectsAtOnce = 1000;
// Subjects of one schedule that has more than that due, while others are due as well: at least so many.
constexpr std::size_t kShareMin = 20;
// How often a schedule that is about to change is planned first: each round takes up to a thousand occurrences.
// Subjects that are not reached are planned by the definition that was replaced, when their turn comes.
constexpr int kRoundsBeforeChangeMax = 100;

}  // namespace

Result<DuePlanner::Stepped> DuePlanner::step(Round& round, const Step& asked) {
  Stepped whole;
  std::vector<ScheduleId> ids;
  for (const auto& [at, id] : index_.due()) {
    if (at > round.now || ids.size() == asked.schedules_max) break;
    if (!asked.leave_deliveries || !index_.is_delivery(id)) ids.push_back(id);
  }
  // Each gets its share; what one leaves over, the next may use. Who came last before begins behind.
  if (const auto last = std::ranges::find(ids, served_); last != ids.end()) std::ranges::rotate(ids, last + 1);
  std::size_t left = kSubjectsAtOnce;
  std::size_t waiting = ids.size();
  for (const ScheduleId id : ids) {
    const std::size_t share = std::max(kShareMin, left / waiting--);
    const auto row = store_.plans().schedule(id);
    if (row) {
      const auto one = plan_schedule(round, *row, share);
      if (!one) {
        if (!is_refusal(one.error())) return std::unexpected(one.error());
        // One that cannot be planned holds up nobody else: it sleeps until somebody puts it again.
        index_.remember(round, *row, std::nullopt);
        continue;
      }
      whole.looked_at += one->looked_at;
      left -= std::min<std::size_t>(left, one->looked_at);
      if (one->is_behind) served_ = id;
    } else if (row.error().code == ErrorCode::not_found) {
      index_.forget(round, id);
    } else {
      return std::unexpected(row.error());
    }
  }
  return whole;
}

Result<DuePlanner::Stepped> DuePlanner::plan_schedule(Round& round, const ScheduleRow& row, std::size_t most) {
  const auto compiled = compiler_.compile(row);
  // It was checked when it was put: a zone that is gone, say. It sleeps until somebody puts it again.
  if (!compiled || !runs_at(row, round.now)) {
    index_.remember(round, row, std::nullopt);
    return Stepped{};
  }
  TRY_ASSIGN(const std::vector<SubjectRow> subjects, store_.plans().subjects_due(row.id, round.now, most));
  std::size_t planned = 0;
  if (replans_.contains(row.id)) {
    for (const SubjectRow& subject : subjects) TRY(plan_subject(round, {row, **compiled}, subject));
    planned = subjects.size();
  } else {
    TRY_ASSIGN(planned, subjects_.plan_all(round, {row, **compiled}, subjects, round.now));
  }
  TRY(index_.remember(round, row));
  return Stepped{.looked_at = planned, .is_behind = subjects.size() == most || planned < subjects.size()};
}

Result<void> DuePlanner::plan_subject(Round& round, const Ruling& ruling, const SubjectRow& subject) {
  Replan* const replan = replans_.find(ruling.row.id);
  if (replan == nullptr || !replan->is_ahead(subject.subject)) {
    return subjects_.plan(round, ruling, subject, round.now);
  }
  TRY(bring_up_to_date(round, ruling, *replan, subject));
  TRY_ASSIGN(const SubjectRow now, store_.plans().subject(subject.schedule, subject.subject));
  if (!now.next_at || *now.next_at > round.now) return {};
  return subjects_.plan(round, ruling, now, round.now);
}

// Occurrences that fell due before a change belong to what was there before it.
Result<void> DuePlanner::plan_what_is_due(Round& round, const ScheduleRow& row) {
  for (int i = 0; i < kRoundsBeforeChangeMax && runs_at(row, round.now); ++i) {
    TRY_ASSIGN(const Stepped stepped, plan_schedule(round, row, kSubjectsAtOnce));
    if (stepped.looked_at == 0 || stepped.is_behind) break;
    TRY_ASSIGN(const std::optional<Instant> next_at, store_.plans().next_subject_at(row.id));
    if (!next_at || *next_at > round.now) break;
  }
  return {};
}

Result<void> DuePlanner::bring_up_to_date(Round& round, const Ruling& ruling, Replan& replan,
                                          const SubjectRow& subject) {
  SubjectRow now = subject;
  if (subject.next_at && replan.ran_until && *subject.next_at <= *replan.ran_until) {
    ScheduleRow before = ruling.row;
    before.definition = replan.before;
    // A pause that began with the edit, or later, is not for what was due before; the one before that is.
    before.paused_until = replan.paused_before;
    if (!replan.compiled_before) {
      if (auto compiled = compiler_.compile_once(before)) replan.compiled_before = *std::move(compiled);
    }
    if (replan.compiled_before) {
      TRY(subjects_.plan(round, {before, *replan.compiled_before}, subject, *replan.ran_until));
      TRY_ASSIGN(now, store_.plans().subject(subject.schedule, subject.subject));
    }
  }
  return subjects_.anchor_or_set_aside(round, ruling, now,
                                       {.what = SubjectChange::What::edited, .at = replan.at, .cursor_end = {}});
}

}  // namespace carillon
