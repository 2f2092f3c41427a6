#include "engine/planning/subject_planner.h"

#include <array>

#include "base/mutant.h"
#include "core/kinds/windows.h"
#include "store/local_minute.h"
#include "store/subject_state.h"

namespace carillon {

namespace {

// A range that goes on with the one before it is told to the store by what it adds.
ClosedSlot closed_slot(ClosedOccurrences closed) {
  ClosedSlot slot{.first = closed.first,
                  .until = closed.until,
                  .count = closed.count,
                  .outcome = closed.outcome,
                  .reason = std::move(closed.reason),
                  .local_minute = closed.local_minute,
                  .minutes = std::move(closed.minutes)};
  if (closed.extends) {
    slot.extends = closed.first;
    slot.first = closed.until.value_or(closed.first);
    slot.until.reset();
  }
  return slot;
}

Advance advance_of(const SubjectRow& subject, SubjectPlan plan) {
  Advance advance{.schedule = subject.schedule,
                  .subject = subject.subject,
                  .version = subject.version,
                  .next_at = plan.next_at,
                  .position = plan.position,
                  .cursor = plan.cursor,
                  .jobs = std::move(plan.jobs)};
  for (NewJob& job : plan.follow_ups) advance.jobs.push_back(std::move(job));
  for (ClosedOccurrences& closed : plan.closed) advance.closed.push_back(closed_slot(std::move(closed)));
  for (const PlannedChange& change : plan.changes) {
    using What = SubjectAction::What;
    advance.actions.push_back(
        {.job = change.job, .what = change.what == PlannedChange::What::cancel ? What::cancel : What::skip});
  }
  return advance;
}

bool changes_nothing(const SubjectRow& subject, const SubjectPlan& plan) {
  return plan.jobs.empty() && plan.closed.empty() && plan.changes.empty() && plan.follow_ups.empty() &&
         plan.next_at == subject.next_at && (!plan.position || plan.position == subject.position) &&
         (!plan.cursor || plan.cursor == subject.cursor) && !plan.cadence;
}

// Nothing if it says what is there already.
std::optional<Advance> change_of(const SubjectRow& subject, const SubjectPlanner::Facts& facts, SubjectPlan plan) {
  if (plan.cadence && *plan.cadence == facts.cadence) plan.cadence.reset();
  if (changes_nothing(subject, plan)) return std::nullopt;
  std::optional<StateChange> state;
  if (plan.cadence) state = StateChange{.expected_at = {}, .last_status = {}, .cadence = plan.cadence};
  Advance advance = advance_of(subject, std::move(plan));
  advance.state = std::move(state);
  return advance;
}

// Jobs that one step makes, a subject more or less: windows that were left behind may be many a subject.
constexpr std::size_t kJobsAtOnce = 2000;
// A minute to be counted costs less than a job to be made.
constexpr std::size_t kMinutesForAJob = 25;
constexpr std::string_view kReasonRefused = "refused";

std::size_t minutes_closed(const Advance& advance) {
  std::size_t minutes = 0;
  for (const ClosedSlot& closed : advance.closed) minutes += closed.minutes.size();
  return minutes;
}

}  // namespace

bool is_refusal(const Error& error) {
  return error.code == ErrorCode::conflict || error.code == ErrorCode::invalid_request ||
         error.code == ErrorCode::invalid_configuration;
}

bool runs_at(const ScheduleRow& row, Instant now) {
  return row.enabled && !row.deleted_at && (!row.paused_until || *row.paused_until <= now);
}

// ---- Facts ------------------------------------------------------------------------------------------------------

Result<SubjectPlanner::Facts> SubjectPlanner::bare_facts(const Ruling& ruling, const SubjectRow& subject, Instant now) {
  TRY_ASSIGN(SubjectOverrides overrides, overrides_.read(subject.overrides));
  overrides.enabled = subject.enabled;
  return bare_facts(ruling, subject, std::move(overrides), now);
}

Result<SubjectPlanner::Facts> SubjectPlanner::bare_facts(const Ruling& ruling, const SubjectRow& subject,
                                                         SubjectOverrides overrides, Instant now) const {
  const CompiledSchedule& compiled = ruling.compiled;
  Facts facts{.own = nullptr,
              .plan = {.tenant = ruling.row.tenant,
                       .schedule = compiled.schedule,
                       .timetable = compiled.timetable ? &*compiled.timetable : nullptr,
                       .subject = subject.subject,
                       .next_at = subject.next_at,
                       .position = subject.position,
                       .now = now,
                       .open = {},
                       .new_job_id = [this] { return store_.jobs().new_job_id(); },
                       .overrides = std::move(overrides),
                       .zone = compiled.zone,
                       .cursor = subject.cursor},
              .cadence = {}};
  const SubjectOverrides& own = facts.plan.overrides;
  if (own.timezone) {
    TRY_ASSIGN(facts.plan.zone, zone_of(compiled.schedule, own, compiled.zone));
  }
  if (compiled.timetable && (own.timezone || own.start)) {
    TRY_ASSIGN(Timetable timetable, timetable_for(compiled.schedule, own, facts.plan.zone, compiled.created_at));
    facts.own = std::make_unique<Timetable>(std::move(timetable));
    facts.plan.timetable = facts.own.get();
  }
  if (traits_of(compiled.schedule).has_expected_time) {
    TRY_ASSIGN(const SubjectState state, read_subject_state(subject));
    facts.plan.expected_at = state.expected_at;
    facts.cadence = state.cadence;
  }
  return facts;
}

Result<SubjectPlanner::Facts> SubjectPlanner::facts_of(const Ruling& ruling, const SubjectRow& subject, Instant now) {
  TRY_ASSIGN(Facts facts, bare_facts(ruling, subject, now));
  const TriggerTraits& traits = traits_of(ruling.compiled.schedule);
  if (subject.open_job && traits.looks_at_open_jobs) {
    TRY_ASSIGN(const std::vector<OpenJobRow> open, store_.plans().open_jobs(subject.schedule, subject.subject));
    for (const OpenJobRow& job : open) facts.plan.open.push_back({.id = job.id, .state = job.state});
  }
  if (traits.keeps_cursor) {
    const std::size_t most = most_open_windows(ruling.compiled.schedule);
    TRY_ASSIGN(facts.plan.open_windows, store_.plans().open_windows(subject.schedule, subject.subject, most));
  }
  if (traits.has_expected_time && !facts.plan.open.empty()) {
    TRY_ASSIGN(const auto last, store_.plans().last_outcome(subject.schedule, subject.subject));
    if (last && !last->job && last->outcome) {
      facts.plan.last_closed =
          ClosedRange{.first = last->slot, .last = last->until.value_or(last->slot), .reason = last->reason};
    }
  }
  return facts;
}

// ---- Plans ------------------------------------------------------------------------------------------------------

Result<std::optional<Advance>> SubjectPlanner::advance_of_due(Round& round, const Ruling& ruling,
                                                              const SubjectRow& subject, Instant now) {
  const ScheduleRow& row = ruling.row;
  if (!row.paused_until || !subject.next_at || *subject.next_at >= *row.paused_until) {
    return advance_of_occurrence(ruling, subject, now);
  }
  // What lies in a pause that has ended is no occurrence (invariant 32).
  const Instant from = mutant(Mutant::paused_time_caught_up) ? *subject.next_at : *row.paused_until;
  TRY(anchor(round, ruling, subject,
             {.what = SubjectChange::What::resumed,
              .at = std::max(kInstantMin + Duration(1), from) - Duration(1),
              .cursor_end = {}}));
  TRY_ASSIGN(SubjectRow anchored, store_.plans().subject(subject.schedule, subject.subject));
  if (!anchored.next_at || *anchored.next_at > now) return std::nullopt;
  // A day that is under way begins when the pause ends, and not an instant before.
  if (traits_of(ruling.compiled.schedule).has_cutoff) {
    anchored.next_at = std::max(*anchored.next_at, from);
  }
  return advance_of_occurrence(ruling, anchored, now);
}

Result<std::optional<Advance>> SubjectPlanner::advance_of_occurrence(const Ruling& ruling, const SubjectRow& subject,
                                                                     Instant now) {
  TRY_ASSIGN(const Facts facts, facts_of(ruling, subject, now));
  SubjectPlan plan = plan_subject(facts.plan);
  if (mutant(Mutant::next_on_completion) && !facts.plan.open.empty()) {
    plan = {};
    plan.next_at = add_clamped(now, std::chrono::minutes(1));
  }
  if (mutant(Mutant::missed_range_lost)) plan.closed.clear();
  return change_of(subject, facts, std::move(plan));
}

Result<void> SubjectPlanner::plan(Round& round, const Ruling& ruling, const SubjectRow& subject, Instant now) {
  TRY(plan_all(round, ruling, std::span(&subject, 1), now));
  return {};
}

Result<std::size_t> SubjectPlanner::plan_all(Round& round, const Ruling& ruling, std::span<const SubjectRow> subjects,
                                             Instant now) {
  std::vector<Advance> advances;
  advances.reserve(subjects.size());
  std::size_t planned = 0;
  for (std::size_t jobs = 0; planned < subjects.size() && jobs < kJobsAtOnce; ++planned) {
    const SubjectRow& subject = subjects[planned];
    auto advance = advance_of_due(round, ruling, subject, now);
    if (!advance) {
      if (!is_refusal(advance.error())) return std::unexpected(advance.error());
      TRY(set_aside(subject, advance.error()));
    } else if (*advance) {
      jobs += (*advance)->jobs.size() + minutes_closed(**advance) / kMinutesForAJob;
      advances.push_back(**std::move(advance));
    }
  }
  TRY(write(round, ruling.row, advances));
  return planned;
}

// A zone that is gone, say, or a rule that has no time in it. Whoever changes it, or the sweep, plans it again.
Result<void> SubjectPlanner::set_aside(const SubjectRow& subject, const Error& why) {
  SubjectEdit edit{.subject = subject.subject};
  edit.next_at = std::optional<Instant>();
  edit.state = StateChange{.expected_at = {}, .last_status = {}, .cadence = {}, .error = why.message};
  TRY(store_.plans().put_subjects(subject.schedule, std::array{edit}));
  return {};
}

Result<void> SubjectPlanner::anchor(Round& round, const Ruling& ruling, const SubjectRow& subject,
                                    const SubjectChange& change) {
  TRY_ASSIGN(const Facts facts, facts_of(ruling, subject, round.now));
  auto advance = change_of(subject, facts, anchor_subject(facts.plan, change));
  if (!advance) return {};
  TRY(write(round, ruling.row, std::span(&*advance, 1)));
  return {};
}

Result<void> SubjectPlanner::anchor_only(Round& round, const Ruling& ruling, const SubjectChange& change) {
  const SubjectEdit edit{.subject = {}};
  TRY_ASSIGN(const std::vector<PutSubject> made, store_.plans().put_subjects(ruling.row.id, std::array{edit}));
  return anchor(round, ruling, made.front().row, change);
}

Result<void> SubjectPlanner::anchor_or_set_aside(Round& round, const Ruling& ruling, const SubjectRow& subject,
                                                 const SubjectChange& change) {
  auto anchored = anchor(round, ruling, subject, change);
  if (anchored || !is_refusal(anchored.error())) return anchored;
  return set_aside(subject, anchored.error());
}

namespace {

// Of several in the same millisecond each has the next one for its slot, so that none is lost. A position that is
// further ahead is that of a clock that was set back: there is no slot now that would not repeat one.
constexpr Duration kSlotsAheadMax = std::chrono::seconds(1);

Instant slot_for_one_more(const SubjectRow& subject, Instant now) {
  if (!subject.position || *subject.position < now || *subject.position - now >= kSlotsAheadMax) return now;
  return up_to_millisecond(*subject.position + Duration(1));
}

}  // namespace

Result<Enqueued> SubjectPlanner::check_now(Round& round, const Ruling& ruling, const SubjectRow& subject, JobId behind,
                                           const std::function<void(NewJob&)>& change) {
  const Instant slot = slot_for_one_more(subject, round.now);
  SubjectRow due = subject;
  due.next_at = slot;
  TRY_ASSIGN(Facts facts, facts_of(ruling, due, slot));
  if (behind) facts.plan.open.clear();
  SubjectPlan plan = plan_subject(facts.plan);
  if (plan.jobs.empty()) {
    return failed(ErrorCode::conflict, "the schedule has ended, or the subject has a check already");
  }
  change(plan.jobs.front());
  plan.jobs.front().options.origin = Origin::manual;
  plan.jobs.front().run_at = round.now;
  if (behind) {
    plan.jobs.front().depends_on = {behind};
    plan.jobs.front().options.run_anyway = true;
  }
  const std::optional<std::string> cadence = plan.cadence;
  Advance advance = advance_of(subject, std::move(plan));
  advance.state = StateChange{.expected_at = {}, .last_status = {}, .cadence = cadence};
  TRY_ASSIGN(const Advanced advanced, std::move(store_.plans().advance(std::array{advance}).front()));
  note_advanced(round, ruling.row, advance.jobs, advanced);
  return advanced.jobs.front();
}

// ---- Writing ----------------------------------------------------------------------------------------------------

Result<void> SubjectPlanner::write(Round& round, const ScheduleRow& row, std::span<Advance> advances) {
  if (advances.empty()) return {};
  const auto answers = store_.plans().advance(advances);
  for (std::size_t i = 0; i < advances.size(); ++i) {
    if (answers[i]) {
      note_advanced(round, row, advances[i].jobs, *answers[i]);
    } else if (is_refusal(answers[i].error())) {
      TRY(advance_one_by_one(round, row, std::move(advances[i])));
    } else {
      return std::unexpected(answers[i].error());
    }
  }
  return {};
}

void SubjectPlanner::note_advanced(Round& round, const ScheduleRow& row, std::span<const NewJob> asked,
                                   const Advanced& advanced) {
  for (std::size_t i = 0; i < advanced.jobs.size(); ++i) {
    const Enqueued& job = advanced.jobs[i];
    if (job.deduplicated) continue;
    if (asked[i].occurrence && asked[i].options.origin == Origin::scheduled) ++round.tick.enqueued;
    // Of all jobs with a slot, only deliveries have a deadline.
    if (asked[i].occurrence && asked[i].deadline) {
      const OccurrenceKey& day = *asked[i].occurrence;
      ++round.open_days[{row.id, day_minute_of(local_minute_of(day.slot, day.local_minute)).day}];
    }
    if (job.state == JobState::queued && !job.was_stored) round.ready.push_back(job.ready);
    round.tell(JobChanged{.job = job.id, .tenant = row.tenant, .state = job.state});
  }
  round.add_ready(advanced.ready);
  for (const JobId job : advanced.asked_to_stop) asked_to_stop_(round, job);
}

// One of the occurrences was planned before, or the template no longer passes: the others are not lost for it, and of
// one that can be no job it is told that it was missed.
Result<void> SubjectPlanner::advance_one_by_one(Round& round, const ScheduleRow& row, Advance whole) {
  for (NewJob& job : std::exchange(whole.jobs, {})) {
    const std::optional<OccurrenceKey> occurrence = job.occurrence;
    const Advance one{.schedule = whole.schedule,
                      .subject = whole.subject,
                      .version = whole.version,
                      .next_at = whole.next_at,
                      .actions = whole.actions,
                      .jobs = {std::move(job)}};
    const auto advanced = std::move(store_.plans().advance(std::array{one}).front());
    if (!advanced) {
      if (occurrence && advanced.error().code != ErrorCode::conflict) {
        whole.closed.push_back({.first = occurrence->slot,
                                .until = occurrence->until,
                                .outcome = JobState::missed,
                                .reason = std::string(kReasonRefused),
                                .local_minute = occurrence->local_minute,
                                .minutes = {},
                                .extends = {}});
      }
      continue;
    }
    whole.version = advanced->version;
    whole.actions.clear();
    note_advanced(round, row, one.jobs, *advanced);
  }
  TRY_ASSIGN(const Advanced rest, std::move(store_.plans().advance(std::array{whole}).front()));
  note_advanced(round, row, whole.jobs, rest);
  return {};
}

Result<Enqueued> SubjectPlanner::enqueue(Round& round, const NewJob& job) {
  TRY_ASSIGN(Enqueued made, std::move(store_.jobs().enqueue(std::array{job}).front()));
  if (!made.deduplicated) {
    if (made.state == JobState::queued && !made.was_stored) round.ready.push_back(made.ready);
    round.tell(JobChanged{.job = made.id, .tenant = job.tenant, .state = made.state});
  }
  return made;
}

void note_moved(Round& round, const std::vector<Changed>& moved) {
  for (const Changed& changed : moved) {
    round.add_ready(changed.ready);
    round.tell(JobChanged{.job = changed.id, .tenant = changed.tenant, .state = changed.state});
  }
}

}  // namespace carillon
