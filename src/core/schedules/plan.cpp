#include "core/schedules/plan.h"

#include <algorithm>

#include "base/check.h"
#include "base/mutant.h"
#include "core/policies/jitter.h"
#include "core/schedules/misfire.h"
#include "core/schedules/overlap.h"
#include "core/triggers/trigger_kind.h"

namespace carillon {

namespace {

NewJob job_of_slot(const PlanFacts& facts, const DueSlot& slot) {
  const Schedule& schedule = facts.schedule;
  const Instant at = slot.occurrence.at;
  NewJob job = job_of_subject(schedule.job, facts.tenant, facts.overrides);
  if (slot.backfilled && !schedule.job.priority && !facts.overrides.priority) job.priority = kPriorityBackfilled;
  job.options.origin = Origin::scheduled;
  job.occurrence = OccurrenceKey{.schedule = schedule.name,
                                 .subject = std::string(facts.subject),
                                 .slot = at,
                                 .until = std::nullopt,
                                 .local_minute = local_minute_of(slot.occurrence.local)};
  const JitterKey key{.tenant = facts.tenant, .schedule = schedule.name, .subject = facts.subject, .slot = at};
  job.run_at = add_clamped(at, jitter_of(key, schedule.jitter));
  if (mutant(Mutant::jitter_rolled_again) && schedule.jitter > Duration(0)) {
    job.run_at = add_clamped(at, std::chrono::seconds(mutant_nodes() % 60));
  }
  return job;
}

ClosedOccurrences missed(const MissedRange& range, const Timetable& timetable, Instant now) {
  const bool one = range.first.at == range.last;
  ClosedOccurrences closed{.first = range.first.at,
                           .until = one ? std::nullopt : std::optional(range.last),
                           .count = static_cast<std::int64_t>(range.count.value_or(one ? 1 : 2)),
                           .outcome = JobState::missed,
                           .reason = std::string(kReasonMisfire),
                           .local_minute = local_minute_of(range.first.local)};
  if (!one) spread_closed(closed, timetable, range.last, now);
  return closed;
}

// The subject's jobs while one due occurrence after the other comes in.
//
// At any moment there are `runners_`, that run or may run, and at most one that waits for all of them. Both are either
// stored, or made by this plan; one of this plan that is displaced never becomes a job.
class Series {
 public:
  Series(const PlanFacts& facts, SubjectPlan& plan) : facts_(facts), plan_(plan) {
    for (const OpenJob& job : facts.open) {
      if (!is_open(job.state)) continue;
      (job.state == JobState::waiting ? waiting_ : runners_).push_back({.id = job.id, .state = job.state, .made = {}});
    }
  }
  Series(const Series&) = delete;
  Series& operator=(const Series&) = delete;
  ~Series() = default;

  void add(const DueSlot& slot) {
    const OverlapPolicy policy = facts_.schedule.overlap;
    const OverlapDecision decision = on_overlap(policy, previous(policy), !waiting_.empty());
    // One that waits for nothing that is open waits for a job in the DLQ, for days perhaps. The series goes on
    // without it.
    const bool stuck = policy != OverlapPolicy::allow && runners_.empty() && !waiting_.empty();
    switch (decision.occurrence) {
      case OverlapDecision::New::skipped: close(slot.occurrence); return;
      case OverlapDecision::New::run:
        if (stuck) displace_waiting();
        run(slot);
        return;
      case OverlapDecision::New::wait:
        if (decision.skip_waiting) displace_waiting();
        if (decision.cancel_previous) replace_runners();
        if (runners_.empty()) {
          run(slot);
        } else {
          wait(slot);
        }
        return;
    }
    UNREACHABLE();
  }

  // The jobs that are left.
  void finish() {
    for (Made& made : made_) {
      if (made.displaced) continue;
      NewJob& job = plan_.jobs.emplace_back(job_of_slot(facts_, made.slot));
      job.id = made.id;
      job.depends_on = std::move(made.depends_on);
      job.options.run_anyway = !job.depends_on.empty();
    }
  }

 private:
  struct Member {
    JobId id;  // none: of this plan, and nobody has asked for it yet
    JobState state = JobState::queued;
    std::optional<std::size_t> made;  // the index in made_
    bool cancelled = false;           // asked to stop already
  };
  // A job of this plan; written out only at the end, if it is still there.
  struct Made {
    DueSlot slot;
    JobId id;
    std::vector<JobId> depends_on;
    bool displaced = false;
  };

  std::optional<JobState> previous(OverlapPolicy policy) const {
    if (!runners_.empty()) return runners_.back().state;
    if (policy == OverlapPolicy::skip && !waiting_.empty()) return JobState::waiting;
    return std::nullopt;
  }

  void run(const DueSlot& slot) {
    // Among those that may all run at once nobody asks who came before.
    if (facts_.schedule.overlap != OverlapPolicy::allow) {
      runners_.push_back({.id = {}, .state = JobState::queued, .made = made_.size()});
    }
    made_.push_back({.slot = slot, .id = {}, .depends_on = {}});
  }

  void wait(const DueSlot& slot) {
    Made made{.slot = slot, .id = {}, .depends_on = {}};
    const std::size_t first = runners_.size() - std::min(runners_.size(), kDependenciesMax);
    for (std::size_t i = first; i < runners_.size(); ++i) made.depends_on.push_back(id_of(runners_[i]));
    waiting_.push_back({.id = {}, .state = JobState::waiting, .made = made_.size()});
    made_.push_back(std::move(made));
  }

  JobId id_of(Member& member) {
    if (!member.id) {
      member.id = facts_.new_job_id();
      made_[*member.made].id = member.id;
    }
    return member.id;
  }

  // Superseded before it began.
  void displace_waiting() {
    for (const Member& member : waiting_) {
      if (member.made) {
        drop(made_[*member.made]);
      } else {
        plan_.changes.push_back({.job = member.id, .what = PlannedChange::What::skip});
      }
    }
    waiting_.clear();
  }

  // Each is asked to stop; those that a worker has are left, to be waited for.
  void replace_runners() {
    for (Member& runner : runners_) {
      if (runner.made) {
        drop(made_[*runner.made]);
      } else if (!runner.cancelled) {
        plan_.changes.push_back({.job = runner.id, .what = PlannedChange::What::cancel});
        runner.cancelled = true;
      }
    }
    std::erase_if(runners_, [](const Member& runner) { return runner.state != JobState::processing; });
  }

  void drop(Made& made) {
    made.displaced = true;
    close(made.slot.occurrence);
  }

  // Within one plan nothing ends, so that the skipped ones are neighbours. They become one range: a fast series behind
  // a slow job must not leave a thousand rows.
  void close(const Occurrence& slot) {
    if (!plan_.closed.empty() && plan_.closed.back().outcome == JobState::skipped) {
      ClosedOccurrences& range = plan_.closed.back();
      if (range.minutes.empty()) range.minutes.push_back({.local_minute = *range.local_minute, .count = 1});
      range.minutes.push_back({.local_minute = local_minute_of(slot.local), .count = 1});
      range.until = slot.at;
      ++range.count;
      return;
    }
    plan_.closed.push_back({.first = slot.at,
                            .until = std::nullopt,
                            .count = 1,
                            .outcome = JobState::skipped,
                            .reason = std::string(kReasonOverlap),
                            .local_minute = local_minute_of(slot.local)});
  }

  const PlanFacts& facts_;
  SubjectPlan& plan_;
  std::vector<Member> runners_;
  std::vector<Member> waiting_;  // more than one only if others put them there
  std::vector<Made> made_;
};

// One that is not enabled, or follows another schedule, has no time; what it had is kept.
SubjectPlan without_time(const PlanFacts& facts) {
  SubjectPlan plan;
  plan.position = facts.position;
  return plan;
}

SubjectPlan plan_times(const PlanFacts& facts, const Timetable& timetable) {
  if (!facts.next_at) return without_time(facts);
  const Instant before = *facts.next_at - Duration(1);
  const Instant after = facts.position ? std::max(before, *facts.position) : before;
  const DuePlan due = plan_due(timetable, after, facts.now, facts.schedule.misfire);

  SubjectPlan plan;
  plan.position = facts.position;
  if (due.missed) {
    plan.closed.push_back(missed(*due.missed, timetable, facts.now));
    plan.position = due.missed->last;
  }
  Series series(facts, plan);
  for (const DueSlot& slot : due.run) series.add(slot);
  series.finish();
  if (!due.run.empty()) plan.position = due.run.back().occurrence.at;
  if (const auto next = timetable.next(due.planned_until)) plan.next_at = next->at;
  return plan;
}

SubjectPlan anchor_times(const PlanFacts& facts, const Timetable& timetable, const SubjectChange& change) {
  SubjectPlan plan = without_time(facts);
  plan.next_at = first_time(timetable, change.at, facts.position);
  return plan;
}

}  // namespace

void spread_closed(ClosedOccurrences& range, const Timetable& timetable, Instant last, Instant now) {
  Spread spread = timetable.spread({.after = range.first - Duration(1), .upto = last, .oldest = oldest_counted(now)});
  if (spread.minutes.empty()) return;
  const std::int64_t spread_over = spread.total();
  if (spread.is_whole) {
    // It may have cost too much to count them at once, and all of them that are kept have been met.
    if (range.first >= oldest_counted(now)) range.count = spread_over;
  } else if (range.count > spread_over) {
    spread.minutes.back().count += range.count - spread_over;
  } else {
    range.count = spread_over;
  }
  range.minutes = std::move(spread.minutes);
}

SubjectPlan plan_by_timetable(const PlanFacts& facts) {
  return facts.timetable ? plan_times(facts, *facts.timetable) : without_time(facts);
}

SubjectPlan plan_subject(const PlanFacts& facts) {
  if (!facts.overrides.enabled) return without_time(facts);
  const TriggerKind& kind = kind_of(facts.schedule.trigger);
  return kind.plan ? kind.plan(facts) : plan_by_timetable(facts);
}

SubjectPlan anchor_subject(const PlanFacts& facts, const SubjectChange& change) {
  const TriggerKind& kind = kind_of(facts.schedule.trigger);
  // A cursor may be set also while the subject is not enabled.
  if (!facts.overrides.enabled && !kind.traits.keeps_cursor) return without_time(facts);
  if (kind.anchor) return kind.anchor(facts, change);
  return facts.timetable ? anchor_times(facts, *facts.timetable, change) : without_time(facts);
}

NewJob plan_after(std::string_view tenant, const Schedule& dependent, std::string_view subject, Instant parent_slot,
                  JobId parent, const SubjectOverrides& overrides) {
  NewJob job = job_of_subject(dependent.job, tenant, overrides);
  job.options.origin = Origin::dependent;
  job.options.parent = parent;
  job.occurrence = OccurrenceKey{.schedule = dependent.name,
                                 .subject = std::string(subject),
                                 .slot = parent_slot,
                                 .until = {},
                                 .local_minute = {}};
  return job;
}

NewJob manual_job(std::string_view tenant, const Schedule& schedule, std::string_view subject,
                  const std::optional<std::string>& payload, std::optional<int> priority,
                  const SubjectOverrides& overrides) {
  NewJob job = job_of_subject(schedule.job, tenant, overrides);
  if (payload) job.payload = merge_payload(job.payload, *payload);
  job.priority = priority.value_or(std::min(job.priority, kPriorityManual));
  job.options.origin = Origin::manual;
  job.options.beside = BesideOccurrence{.schedule = schedule.name, .slot = {}};
  job.subject = subject;
  return job;
}

std::optional<Instant> first_time(const Timetable& timetable, Instant now, std::optional<Instant> position) {
  const auto next = timetable.next(position ? std::max(now, *position) : now);
  return next ? std::optional(next->at) : std::nullopt;
}

}  // namespace carillon
