#include "engine/planner.h"

#include <fmt/format.h>

#include <array>

#include "base/hash.h"
#include "base/mutant.h"

namespace carillon {

namespace {

constexpr std::size_t kLoadPage = 500;
constexpr std::size_t kSubjectsAtOnce = 500;
// A chain of schedules that follow each other is no longer than this.
constexpr int kAfterChainMax = 100;
constexpr std::string_view kOnlySubject;
// How often a schedule that is about to change is planned first: each round takes up to a thousand occurrences.
constexpr int kRoundsBeforeChangeMax = 100;

bool runs_at(const ScheduleRow& row, Instant now) {
  return row.enabled && !row.deleted_at && (!row.paused_until || *row.paused_until <= now);
}

Instant just_before(Instant at) { return at > kInstantMin ? at - std::chrono::microseconds(1) : at; }

Advance advance_of(const SubjectRow& subject, SubjectPlan plan) {
  Advance advance{.schedule = subject.schedule,
                  .subject = subject.subject,
                  .version = subject.version,
                  .next_at = plan.next_at,
                  .position = plan.position,
                  .jobs = std::move(plan.jobs)};
  for (ClosedOccurrences& closed : plan.closed) {
    advance.closed.push_back({.first = closed.first,
                              .until = closed.until,
                              .count = closed.count,
                              .outcome = closed.outcome,
                              .reason = std::move(closed.reason)});
  }
  for (const PlannedChange& change : plan.changes) {
    using What = SubjectAction::What;
    advance.actions.push_back(
        {.job = change.job, .what = change.what == PlannedChange::What::cancel ? What::cancel : What::skip});
  }
  return advance;
}

}  // namespace

// ---- Entries ----------------------------------------------------------------------------------------------------

void Planner::erase_entry(ScheduleId id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  const Entry& entry = found->second;
  if (entry.wake_at) due_.erase({*entry.wake_at, id});
  if (!entry.after.empty()) followers_[{entry.tenant, entry.after}].erase(id);
  entries_.erase(found);
}

void Planner::set_entry(ScheduleId id, Entry entry) {
  erase_entry(id);
  if (entry.wake_at) due_.insert({*entry.wake_at, id});
  if (!entry.after.empty()) followers_[{entry.tenant, entry.after}].insert(id);
  entries_.emplace(id, std::move(entry));
}

void Planner::remember(Round& round, const ScheduleRow& row, std::optional<Instant> next_at, std::string after) {
  Entry entry{.tenant = row.tenant, .name = row.name, .after = std::move(after)};
  if (runs_at(row, round.now)) {
    entry.wake_at = next_at;
  } else if (row.enabled && row.paused_until && *row.paused_until < kInstantMax) {
    entry.wake_at = row.paused_until;
  }
  const bool runs = runs_at(row, round.now);
  round.on_commit.emplace_back([this, id = row.id, entry = std::move(entry), runs]() mutable {
    set_entry(id, std::move(entry));
    if (!runs || mutant(Mutant::held_jobs_forgotten)) return;
    if (auto held = held_.extract(id)) {
      released_.insert(released_.end(), held.mapped().begin(), held.mapped().end());
    }
  });
}

void Planner::forget(Round& round, ScheduleId id) {
  round.on_commit.emplace_back([this, id] {
    erase_entry(id);
    compiled_.erase(id);
    held_.erase(id);
  });
}

void Planner::remember_stored(Round& round, const ScheduleRow& row, const Compiled& compiled) {
  const auto subject = store_.plans().subject(row.id, kOnlySubject);
  const AfterTrigger* after = after_of(compiled.schedule);
  remember(round, row, subject ? subject->next_at : std::nullopt, after ? after->schedule : std::string());
}

void Planner::hold(const HeldJob& held) {
  held_[held.schedule].push_back(held.job);
  const auto found = entries_.find(held.schedule);
  if (found == entries_.end() || !held.until || *held.until == kInstantMax) return;
  // It is woken when the pause ends, also if it was woken before and the clock was set back since.
  Entry entry = found->second;
  if (!entry.wake_at || *held.until < *entry.wake_at) {
    entry.wake_at = held.until;
    set_entry(held.schedule, std::move(entry));
  }
}

std::vector<ReadyJob> Planner::take_released(Round& round) {
  // They are forgotten only when they stand elsewhere for good.
  round.on_commit.emplace_back([this, count = released_.size()] {
    released_.erase(released_.begin(), released_.begin() + static_cast<std::ptrdiff_t>(count));
  });
  return released_;
}

void Planner::zone_changed(std::string_view tenant) {
  for (const auto& [id, entry] : entries_) {
    if (tenant.empty() || entry.tenant == tenant) rezone_.insert(id);
  }
}

Result<void> Planner::rezone(Round& round) {
  for (const ScheduleId id : rezone_) {
    const auto row = store_.plans().schedule(id);
    if (!row) continue;
    const auto compiled = compile(*row);
    if (!compiled || (*compiled)->schedule.timezone || !(*compiled)->timetable) continue;
    TRY(plan_what_is_due(round, *row));
    TRY_ASSIGN(const std::optional<Instant> next_at, anchor_subject(*row, **compiled, round.now));
    remember(round, *row, next_at, {});
  }
  round.on_commit.emplace_back([this] { rezone_.clear(); });
  return {};
}

std::optional<Instant> Planner::next_due() const {
  if (!rezone_.empty()) return kInstantMin;
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

Result<bool> Planner::load(Round& round) {
  TRY_ASSIGN(const std::vector<ScheduleHead> heads, store_.plans().schedule_heads(loaded_to_, kLoadPage));
  for (const ScheduleHead& head : heads) {
    auto row = store_.plans().schedule(head.schedule);
    if (!row) continue;
    std::string after;
    // One without a time may follow another schedule.
    if (!head.next_at) {
      const auto compiled = compile(*row);
      if (compiled && after_of((*compiled)->schedule)) after = after_of((*compiled)->schedule)->schedule;
    }
    remember(round, *row, head.next_at, std::move(after));
  }
  if (!heads.empty()) round.on_commit.emplace_back([this, last = heads.back().schedule] { loaded_to_ = last; });
  return heads.size() < kLoadPage;
}

Result<std::shared_ptr<const Planner::Compiled>> Planner::compile(const ScheduleRow& row) {
  const Zone zone = rules_.zone_of(row.tenant);
  // Of what it depends on, and not of the revision alone: a write that failed may have had the same one.
  const std::string created_at = std::to_string(row.created_at.time_since_epoch().count());
  const std::uint64_t print = stable_hash({row.definition, zone.name(), created_at});
  JobDefaults defaults = rules_.job_defaults();
  const auto known = compiled_.find(row.id);
  if (known != compiled_.end() && known->second.print == print && known->second.defaults == defaults) {
    return known->second.compiled;
  }
  TRY_ASSIGN(Schedule schedule, parse_schedule(row.definition));
  fill(schedule.job, defaults);
  auto compiled = std::make_shared<Compiled>();
  if (has_times(schedule)) {
    TRY_ASSIGN(compiled->timetable, timetable_of(schedule, zone, row.created_at));
  }
  compiled->schedule = std::move(schedule);
  compiled_[row.id] = {.print = print, .defaults = std::move(defaults), .compiled = compiled};
  return compiled;
}

// ---- Planning ---------------------------------------------------------------------------------------------------

Result<std::uint64_t> Planner::step(Round& round, std::size_t most) {
  std::uint64_t scanned = 0;
  if (!rezone_.empty()) TRY(rezone(round));
  std::vector<ScheduleId> ids;
  for (const auto& [at, id] : due_) {
    if (at > round.now || ids.size() == most) break;
    ids.push_back(id);
  }
  for (const ScheduleId id : ids) {
    const auto row = store_.plans().schedule(id);
    if (row) {
      TRY_ASSIGN(const std::uint64_t looked_at, plan_schedule(round, *row));
      scanned += looked_at;
    } else if (row.error().code == ErrorCode::not_found) {
      forget(round, id);
    } else {
      return std::unexpected(row.error());
    }
  }
  return scanned;
}

Result<std::uint64_t> Planner::plan_schedule(Round& round, const ScheduleRow& row) {
  auto compiled = compile(row);
  if (!compiled) {
    // It was checked when it was put: a zone that is gone, say. It sleeps until somebody puts it again.
    remember(round, row, std::nullopt, {});
    return 0;
  }
  const AfterTrigger* after = after_of((*compiled)->schedule);
  if (!runs_at(row, round.now) || !(*compiled)->timetable) {
    remember(round, row, std::nullopt, after ? after->schedule : std::string());
    return 0;
  }
  TRY_ASSIGN(const std::vector<SubjectRow> subjects, store_.plans().subjects_due(row.id, round.now, kSubjectsAtOnce));
  std::optional<Instant> next_at;
  for (const SubjectRow& subject : subjects) {
    TRY_ASSIGN(const std::optional<Instant> next, plan_subject_row(round, row, **compiled, subject));
    if (next && (!next_at || *next < *next_at)) next_at = next;
  }
  if (subjects.empty()) {
    const auto subject = store_.plans().subject(row.id, kOnlySubject);
    if (subject) next_at = subject->next_at;
  }
  remember(round, row, next_at, {});
  return subjects.size();
}

Result<std::optional<Instant>> Planner::plan_subject_row(Round& round, const ScheduleRow& row, const Compiled& compiled,
                                                         const SubjectRow& subject) {
  Instant next_at = subject.next_at.value_or(round.now);
  if (row.paused_until && next_at < *row.paused_until) {
    // What lies in a pause that has ended is no occurrence (invariant 32).
    const auto first = first_time(*compiled.timetable, just_before(*row.paused_until), subject.position);
    if (!first || *first > round.now) {
      SubjectPlan only_next;
      only_next.next_at = first;
      TRY(std::move(store_.plans().advance(std::array{advance_of(subject, std::move(only_next))}).front()));
      return first;
    }
    next_at = *first;
  }
  TRY_ASSIGN(const std::vector<OpenJobRow> open, store_.plans().open_jobs(row.id, subject.subject));
  if (mutant(Mutant::next_on_completion) && !open.empty()) return add_clamped(round.now, std::chrono::minutes(1));
  PlanFacts facts{.tenant = row.tenant,
                  .schedule = compiled.schedule,
                  .timetable = &*compiled.timetable,
                  .subject = subject.subject,
                  .next_at = next_at,
                  .position = subject.position,
                  .now = round.now,
                  .open = {},
                  .new_job_id = [this] { return store_.jobs().new_job_id(); }};
  for (const OpenJobRow& job : open) facts.open.push_back({.id = job.id, .state = job.state});
  Advance advance = advance_of(subject, plan_subject(facts));
  if (mutant(Mutant::missed_range_lost)) advance.closed.clear();
  if (mutant(Mutant::naive_dst) && std::holds_alternative<DailyTrigger>(compiled.schedule.trigger) &&
      advance.position) {
    advance.next_at = add_clamped(*advance.position, std::chrono::hours(24));
  }
  const std::optional<Instant> next_time = advance.next_at;
  const auto advanced = std::move(store_.plans().advance(std::array{advance}).front());
  if (!advanced) {
    if (advanced.error().code != ErrorCode::conflict && advanced.error().code != ErrorCode::invalid_request &&
        advanced.error().code != ErrorCode::invalid_configuration) {
      return std::unexpected(advanced.error());
    }
    TRY(advance_one_by_one(round, row, std::move(advance)));
    return next_time;
  }
  note_advanced(round, row, *advanced);
  return next_time;
}

void Planner::note_advanced(Round& round, const ScheduleRow& row, const Advanced& advanced) {
  for (const Enqueued& job : advanced.jobs) {
    if (job.deduplicated) continue;
    if (job.state == JobState::queued) round.ready.push_back(job.ready);
    round.tell(JobChanged{.job = job.id, .tenant = row.tenant, .state = job.state});
  }
  round.add_ready(advanced.ready);
  for (const JobId job : advanced.asked_to_stop) asked_to_stop_(round, job);
}

// One of the occurrences was planned before, or the template no longer passes: the others are not lost for it.
Result<void> Planner::advance_one_by_one(Round& round, const ScheduleRow& row, Advance whole) {
  for (NewJob& job : std::exchange(whole.jobs, {})) {
    const Advance one{.schedule = whole.schedule,
                      .subject = whole.subject,
                      .version = whole.version,
                      .next_at = whole.next_at,
                      .actions = whole.actions,
                      .jobs = {std::move(job)}};
    const auto advanced = std::move(store_.plans().advance(std::array{one}).front());
    if (!advanced) continue;
    whole.version = advanced->version;
    whole.actions.clear();
    note_advanced(round, row, *advanced);
  }
  TRY_ASSIGN(const Advanced rest, std::move(store_.plans().advance(std::array{whole}).front()));
  note_advanced(round, row, rest);
  return {};
}

// Occurrences that fell due before a change belong to what was there before it.
Result<void> Planner::plan_what_is_due(Round& round, const ScheduleRow& row) {
  for (int i = 0; i < kRoundsBeforeChangeMax && runs_at(row, round.now); ++i) {
    TRY(plan_schedule(round, row));
    const auto subject = store_.plans().subject(row.id, kOnlySubject);
    if (!subject || !subject->next_at || *subject->next_at > round.now) break;
  }
  return {};
}

Result<std::optional<Instant>> Planner::anchor_subject(const ScheduleRow& row, const Compiled& compiled, Instant from) {
  // It is made first, if it is new: an earlier life of the schedule may have left a position (invariant 1).
  SubjectEdit edit{.subject = std::string(kOnlySubject)};
  TRY_ASSIGN(const std::vector<PutSubject> made, store_.plans().put_subjects(row.id, std::array{edit}));
  std::optional<Instant> next_at;
  if (compiled.timetable) next_at = first_time(*compiled.timetable, from, made.front().row.position);
  edit.next_at = next_at;
  TRY(store_.plans().put_subjects(row.id, std::array{edit}));
  return next_at;
}

// ---- What people ask --------------------------------------------------------------------------------------------

Result<void> Planner::check_after(std::string_view tenant, const Schedule& schedule) {
  const AfterTrigger* after = after_of(schedule);
  std::string name = schedule.name;
  for (int i = 0; after && i < kAfterChainMax; ++i) {
    if (after->schedule == schedule.name) {
      return invalid_configuration(
          fmt::format("schedule {} would follow itself, by way of {}", quoted(schedule.name), quoted(name)));
    }
    const auto parent = store_.plans().schedule(tenant, after->schedule);
    if (!parent) {
      return invalid_configuration(
          fmt::format("schedule {} follows {}, which does not exist", quoted(name), quoted(after->schedule)));
    }
    name = after->schedule;
    TRY_ASSIGN(const auto compiled, compile(*parent));
    after = after_of(compiled->schedule);
  }
  if (after) return invalid_configuration(fmt::format("more than {} schedules follow each other", kAfterChainMax));
  return {};
}

Result<ScheduleRow> Planner::put(Round& round, const Put& put) {
  TRY_ASSIGN(const Schedule schedule, parse_schedule(put.definition));
  if (auto checked = check_after(put.tenant, schedule); !checked) {
    return std::unexpected(about_field("trigger.schedule", std::move(checked).error()));
  }
  const auto before = store_.plans().schedule(put.tenant, schedule.name);
  if (before) TRY(plan_what_is_due(round, *before));
  // Judged before it is written: a rule that never fires is refused; one without a further time only if it is new
  // (invariant 26).
  if (has_times(schedule)) {
    TRY_ASSIGN(const Timetable timetable,
               timetable_of(schedule, rules_.zone_of(put.tenant), before ? before->created_at : round.now));
    if (!before && !timetable.next(round.now)) {
      auto never = invalid_configuration(fmt::format("schedule {} never fires: it has no time after {}",
                                                     quoted(schedule.name), format_instant(round.now)));
      return std::unexpected(about_field("trigger", std::move(never).error()));
    }
  }
  TRY_ASSIGN(ScheduleRow row, store_.plans().put_schedule({.tenant = std::string(put.tenant),
                                                           .name = schedule.name,
                                                           .definition = write_schedule(schedule),
                                                           .enabled = schedule.enabled,
                                                           .if_revision = put.if_revision}));
  TRY_ASSIGN(const auto compiled, compile(row));
  if (before && before->revision == row.revision) {
    // Nothing changed. The answer to the call that put it may have been lost, and with it what the memory should know.
    remember_stored(round, row, *compiled);
    return row;
  }
  TRY_ASSIGN(const std::optional<Instant> next_at, anchor_subject(row, *compiled, round.now));
  const AfterTrigger* after = after_of(compiled->schedule);
  remember(round, row, next_at, after ? after->schedule : std::string());
  return row;
}

Result<ScheduleRow> Planner::pause(Round& round, std::string_view tenant, std::string_view name,
                                   std::optional<Instant> until) {
  TRY_ASSIGN(const ScheduleRow before, store_.plans().schedule(tenant, name));
  TRY(plan_what_is_due(round, before));
  if (until && *until <= round.now) {
    return invalid_field(
        "until", fmt::format("cannot pause schedule {} until {}: that is past", quoted(name), format_instant(*until)));
  }
  TRY_ASSIGN(ScheduleRow row, store_.plans().set_paused(tenant, name, until.value_or(kInstantMax)));
  TRY_ASSIGN(const auto compiled, compile(row));
  const AfterTrigger* after = after_of(compiled->schedule);
  remember(round, row, std::nullopt, after ? after->schedule : std::string());
  return row;
}

Result<ScheduleRow> Planner::resume(Round& round, std::string_view tenant, std::string_view name) {
  TRY_ASSIGN(ScheduleRow before, store_.plans().schedule(tenant, name));
  if (!before.paused_until) {
    TRY_ASSIGN(const auto compiled, compile(before));
    remember_stored(round, before, *compiled);
    return before;
  }
  if (*before.paused_until <= round.now) TRY(plan_what_is_due(round, before));
  TRY_ASSIGN(ScheduleRow row, store_.plans().set_paused(tenant, name, std::nullopt));
  TRY_ASSIGN(const auto compiled, compile(row));
  const Instant from = mutant(Mutant::paused_time_caught_up) ? before.updated_at : round.now;
  TRY_ASSIGN(const std::optional<Instant> next_at, anchor_subject(row, *compiled, from));
  const AfterTrigger* after = after_of(compiled->schedule);
  remember(round, row, next_at, after ? after->schedule : std::string());
  return row;
}

Result<DeletedSchedule> Planner::remove(Round& round, std::string_view tenant, std::string_view name) {
  TRY_ASSIGN(const ScheduleRow row, store_.plans().schedule(tenant, name));
  TRY(plan_what_is_due(round, row));
  TRY_ASSIGN(DeletedSchedule deleted, store_.plans().delete_schedule(tenant, name));
  for (const Changed& changed : deleted.cancelled) {
    round.add_ready(changed.ready);
    round.tell(JobChanged{.job = changed.id, .tenant = std::string(tenant), .state = changed.state});
  }
  forget(round, row.id);
  return deleted;
}

Result<NewJob> Planner::manual(std::string_view tenant, std::string_view name, std::optional<std::string> payload,
                               std::optional<int> priority) {
  TRY_ASSIGN(const ScheduleRow row, store_.plans().schedule(tenant, name));
  TRY_ASSIGN(const auto compiled, compile(row));
  return manual_job(tenant, compiled->schedule, kOnlySubject, std::move(payload), priority);
}

Result<void> Planner::parent_done(Round& round, const LeasedJob& parent) {
  if (parent.schedule.empty() || !parent.slot) return {};
  const auto found = followers_.find({parent.tenant, parent.schedule});
  if (found == followers_.end()) return {};
  for (const ScheduleId id : found->second) {
    const auto row = store_.plans().schedule(id);
    if (!row || !runs_at(*row, round.now)) continue;
    const auto compiled = compile(*row);
    const auto subject = store_.plans().subject(id, parent.subject);
    if (!compiled || !subject) continue;
    // What is stored decides: it may have been edited in this very round.
    const AfterTrigger* after = after_of((*compiled)->schedule);
    if (!after || after->schedule != parent.schedule) continue;
    Advance advance{
        .schedule = id,
        .subject = subject->subject,
        .version = subject->version,
        .jobs = {plan_after(parent.tenant, (*compiled)->schedule, subject->subject, *parent.slot, parent.id)}};
    if (mutant(Mutant::dependents_fire_twice)) {
      advance.jobs.push_back(advance.jobs.front());
      advance.jobs.back().occurrence->slot += Duration(1);
    }
    auto advanced = std::move(store_.plans().advance(std::array{advance}).front());
    // Refused: it was made before, by a call whose answer was lost.
    if (!advanced) continue;
    for (const Enqueued& job : advanced->jobs) {
      if (!job.deduplicated && job.state == JobState::queued) round.ready.push_back(job.ready);
    }
  }
  return {};
}

}  // namespace carillon
