#include "engine/planning/planner.h"

#include <algorithm>
#include <iterator>
#include <ranges>

#include "base/check.h"
#include "base/mutant.h"

namespace carillon {

namespace {

constexpr std::size_t kLoadPage = 500;
// Subjects planned in one round, over all schedules. A round is what others wait for at most.
constexpr std::size_t kSubjectsAtOnce = 1000;
// Subjects of one schedule that has more than that due, while others are due as well: at least so many.
constexpr std::size_t kShareMin = 20;
constexpr std::size_t kReplanAtOnce = 500;
constexpr std::size_t kRezoneAtOnce = 200;
constexpr std::size_t kTraitsAtOnce = 500;
constexpr std::size_t kCancelAtOnce = 1000;
// How often a schedule that is about to change is planned first: each round takes up to a thousand occurrences.
// Subjects that are not reached are planned by the definition that was replaced, when their turn comes.
constexpr int kRoundsBeforeChangeMax = 100;

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

void Planner::remember(Round& round, const ScheduleRow& row, std::optional<Instant> next_at) {
  Entry entry{.tenant = row.tenant, .name = row.name};
  const bool runs = runs_at(row, round.now);
  if (runs) {
    entry.wake_at = next_at;
  } else if (row.enabled && row.paused_until && *row.paused_until < kInstantMax) {
    entry.wake_at = row.paused_until;
  }
  // One without a time may follow another schedule; and while an edit is on its way, one with a time too.
  if (!next_at || replans_.contains(row.id)) {
    const auto compiled = compiler_.compile(row);
    if (compiled && followed_by((*compiled)->schedule)) entry.after = *followed_by((*compiled)->schedule);
  }
  round.on_commit.emplace_back([this, id = row.id, entry = std::move(entry), runs]() mutable {
    if (const auto known = entries_.find(id); known != entries_.end()) entry.traits = known->second.traits;
    set_entry(id, std::move(entry));
    if (!runs || mutant(Mutant::held_jobs_forgotten)) return;
    release(HeldKey(id, ""));
  });
}

Result<void> Planner::remember(Round& round, const ScheduleRow& row) {
  TRY_ASSIGN(const std::optional<Instant> next_at, store_.plans().next_subject_at(row.id));
  remember(round, row, next_at);
  return {};
}

void Planner::forget_traits(Round& round, ScheduleId id) {
  round.on_commit.emplace_back([this, id] {
    if (const auto found = entries_.find(id); found != entries_.end()) found->second.traits.reset();
  });
}

void Planner::count_open_days(Round& round, const ScheduleRow& row) {
  bool delivers = false;
  // Most deliver nothing, and need not be compiled to say so.
  if (may_be_of_kind(row.definition, [](const TriggerKind& kind) { return kind.traits.has_cutoff; })) {
    const auto compiled = compiler_.compile(row);
    delivers = compiled && traits_of((*compiled)->schedule).has_cutoff;
  }
  round.on_commit.emplace_back([this, id = row.id, delivers] {
    if (delivers) {
      open_days_.look_up_later(id);
    } else {
      open_days_.forget(id);
    }
  });
}

void Planner::forget(Round& round, ScheduleId id) {
  round.on_commit.emplace_back([this, id] {
    open_days_.forget(id);
    erase_entry(id);
    compiler_.forget(id);
    replans_.erase(id);
    const auto first = held_.lower_bound(HeldKey(id, ""));
    const auto last = held_.lower_bound(HeldKey(ScheduleId{id.value + 1}, ""));
    for (auto held = first; held != last; ++held) take(held_counts_, held->second.tenant, held->second.jobs.size());
    held_.erase(first, last);
  });
}

void Planner::release_subject(Round& round, ScheduleId schedule, std::string_view subject) {
  round.on_commit.emplace_back([this, key = HeldKey(schedule, std::string(subject))] { release(key); });
}

void Planner::release(const HeldKey& key) {
  const auto held = held_.find(key);
  if (held == held_.end()) return;
  const auto& [tenant, jobs] = held->second;
  std::ranges::copy(jobs | std::views::values, std::back_inserter(released_));
  take(held_counts_, tenant, jobs.size());
  released_counts_[tenant] += jobs.size();
  held_.erase(held);
}

void Planner::forget_released() {
  released_ = {};
  released_counts_.clear();
}

void Planner::take(Counts& counts, const std::string& tenant, std::size_t count) {
  const auto found = counts.find(tenant);
  CHECK(found != counts.end() && found->second >= count);
  found->second -= count;
  if (found->second == 0) counts.erase(found);
}

std::size_t Planner::held_count(Instant now, std::optional<std::string_view> tenant) const {
  const auto sum = [&](const Counts& counts) {
    std::size_t all = 0;
    for (const auto& [name, count] : counts) all += !tenant || name == *tenant ? count : 0;
    return all;
  };
  const std::size_t released = sum(released_counts_);
  if (now >= held_to_) return released + sum(held_counts_);
  // The clock was set back: some of them are not due any more.
  std::size_t due = 0;
  for (const auto& [key, held] : held_) {
    if (tenant && held.tenant != *tenant) continue;
    due += static_cast<std::size_t>(
        std::ranges::count_if(held.jobs, [&](const auto& job) { return job.second.run_at <= now; }));
  }
  return released + due;
}

void Planner::left(const LeftQueue& left) {
  if (!left.schedule || held_.empty()) return;
  for (const std::string& subject : {std::string(), left.subject}) {
    const auto held = held_.find(HeldKey(left.schedule, subject));
    if (held == held_.end()) continue;
    const auto job = held->second.jobs.find(left.job.id);
    if (job == held->second.jobs.end() || job->second != left.job) continue;
    take(held_counts_, held->second.tenant, 1);
    held->second.jobs.erase(job);
    if (held->second.jobs.empty()) held_.erase(held);
  }
}

void Planner::load_again() {
  loaded_to_ = followers_to_ = {};
  open_days_.forget_all();
  // A subject may have been enabled by a commit whose answer was lost. What is held by subjects is let go: a claim
  // holds again what is still to wait.
  for (auto held = held_.begin(); held != held_.end();) {
    const HeldKey key = (held++)->first;
    if (!key.second.empty()) release(key);
  }
}

void Planner::hold(const HeldJob& held) {
  Held& at = held_[HeldKey(held.schedule, held.subject)];
  at.tenant = held.tenant;
  held_to_ = std::max(held_to_, held.job.run_at);
  if (at.jobs.insert_or_assign(held.job.id, held.job).second) ++held_counts_[held.tenant];
  const auto found = entries_.find(held.schedule);
  if (found == entries_.end() || !held.until || *held.until == kInstantMax) return;
  // It is woken when the pause ends, also if it was woken before and the clock was set back since.
  Entry entry = found->second;
  if (!entry.wake_at || *held.until < *entry.wake_at) {
    entry.wake_at = held.until;
    set_entry(held.schedule, std::move(entry));
  }
}

Planner::Traits Planner::known_traits(ScheduleId id) {
  const auto found = entries_.find(id);
  if (found != entries_.end() && found->second.traits) return *found->second.traits;
  Traits traits;
  const auto row = store_.plans().schedule(id);
  const auto compiled = row ? compiler_.compile(*row) : Result<CompiledPtr>(nullptr);
  if (compiled && *compiled) {
    const Schedule& schedule = (*compiled)->schedule;
    const TriggerTraits& kind = traits_of(schedule);
    traits.is_delivery = kind.has_cutoff;
    traits.by_subject = kind.plans_by_subject;
    traits.follows_outcomes = kind.keeps_cursor || (kind.has_cutoff && schedule.on_cutoff);
  }
  if (found != entries_.end()) found->second.traits = traits;
  return traits;
}

bool Planner::is_delivery(ScheduleId id) { return known_traits(id).is_delivery; }

Planner::SweepNext Planner::next_by_subject(ScheduleId after) {
  SweepNext next{.found = {}, .looked_to = after, .end = false};
  auto entry = entries_.upper_bound(after);
  for (std::size_t i = 0; i < kTraitsAtOnce && entry != entries_.end(); ++i, ++entry) {
    next.looked_to = entry->first;
    if (known_traits(entry->first).by_subject) {
      next.found = entry->first;
      return next;
    }
  }
  next.end = entry == entries_.end();
  return next;
}

std::optional<Instant> Planner::next_due() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

// All of them, before anything starts: a parent may be done long before its follower's page is read (invariant 31).
Result<bool> Planner::load_followers(Round& round) {
  TRY_ASSIGN(const std::vector<ScheduleRow> rows, store_.plans().followers(followers_to_, kLoadPage));
  for (const ScheduleRow& row : rows) TRY(remember(round, row));
  if (!rows.empty()) round.on_commit.emplace_back([this, last = rows.back().id] { followers_to_ = last; });
  return rows.size() < kLoadPage;
}

Result<bool> Planner::load(Round& round) {
  TRY_ASSIGN(const std::vector<ScheduleHead> heads, store_.plans().schedule_heads(loaded_to_, kLoadPage));
  for (const ScheduleHead& head : heads) {
    auto row = store_.plans().schedule(head.schedule);
    if (!row) continue;
    remember(round, *row, head.next_at);
    count_open_days(round, *row);
  }
  if (!heads.empty()) round.on_commit.emplace_back([this, last = heads.back().schedule] { loaded_to_ = last; });
  return heads.size() < kLoadPage;
}

// ---- Planning ---------------------------------------------------------------------------------------------------

Result<Planner::Stepped> Planner::step(Round& round, const Step& asked) {
  Stepped whole;
  if (!rezone_.empty()) TRY(rezone(round));
  if (!replans_.empty()) TRY(replan_step(round));
  if (!cancelling_.empty()) TRY(cancel_step(round));
  std::vector<ScheduleId> ids;
  for (const auto& [at, id] : due_) {
    if (at > round.now || ids.size() == asked.schedules_max) break;
    if (!asked.leave_deliveries || !is_delivery(id)) ids.push_back(id);
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
        remember(round, *row, std::nullopt);
        continue;
      }
      whole.looked_at += one->looked_at;
      left -= std::min<std::size_t>(left, one->looked_at);
      if (one->is_behind) served_ = id;
    } else if (row.error().code == ErrorCode::not_found) {
      forget(round, id);
    } else {
      return std::unexpected(row.error());
    }
  }
  return whole;
}

Result<Planner::Stepped> Planner::plan_schedule(Round& round, const ScheduleRow& row, std::size_t most) {
  const auto compiled = compiler_.compile(row);
  // It was checked when it was put: a zone that is gone, say. It sleeps until somebody puts it again.
  if (!compiled || !runs_at(row, round.now)) {
    remember(round, row, std::nullopt);
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
  TRY(remember(round, row));
  return Stepped{.looked_at = planned, .is_behind = subjects.size() == most || planned < subjects.size()};
}

Result<void> Planner::plan_subject(Round& round, const Ruling& ruling, const SubjectRow& subject) {
  const auto replan = replans_.find(ruling.row.id);
  if (replan == replans_.end() || !replan->second.is_ahead(subject.subject)) {
    return subjects_.plan(round, ruling, subject, round.now);
  }
  TRY(bring_up_to_date(round, ruling, replan->second, subject));
  TRY_ASSIGN(const SubjectRow now, store_.plans().subject(subject.schedule, subject.subject));
  if (!now.next_at || *now.next_at > round.now) return {};
  return subjects_.plan(round, ruling, now, round.now);
}

// Occurrences that fell due before a change belong to what was there before it.
Result<void> Planner::plan_what_is_due(Round& round, const ScheduleRow& row) {
  for (int i = 0; i < kRoundsBeforeChangeMax && runs_at(row, round.now); ++i) {
    TRY_ASSIGN(const Stepped stepped, plan_schedule(round, row, kSubjectsAtOnce));
    if (stepped.looked_at == 0 || stepped.is_behind) break;
    TRY_ASSIGN(const std::optional<Instant> next_at, store_.plans().next_subject_at(row.id));
    if (!next_at || *next_at > round.now) break;
  }
  return {};
}

// ---- In the background ------------------------------------------------------------------------------------------

void Planner::zone_changed(std::string_view tenant) {
  ++zone_changes_;
  for (const auto& [id, entry] : entries_) {
    if (tenant.empty() || entry.tenant == tenant) rezone_[id] = zone_changes_;
  }
}

Result<void> Planner::rezone(Round& round) {
  std::vector<std::pair<ScheduleId, std::uint64_t>> slice;
  for (auto next = rezone_.begin(); next != rezone_.end() && slice.size() < kRezoneAtOnce; ++next) {
    slice.emplace_back(*next);
  }
  // One that has changed again in this very round comes again.
  round.on_commit.emplace_back([this, slice] {
    for (const auto& [id, change] : slice) {
      if (const auto found = rezone_.find(id); found != rezone_.end() && found->second == change) rezone_.erase(found);
    }
  });
  for (const auto& [id, change] : slice) {
    const auto row = store_.plans().schedule(id);
    if (!row) continue;
    const auto compiled = compiler_.compile(*row);
    if (!compiled || (*compiled)->schedule.timezone || !has_times((*compiled)->schedule)) continue;
    if ((*compiled)->schedule.fan_out) {
      TRY(begin_replan(round, *row, *row));
    } else {
      TRY(plan_what_is_due(round, *row));
      const auto anchored = anchor_only_subject(
          round, {*row, **compiled}, {.what = SubjectChange::What::edited, .at = round.now, .cursor_end = {}});
      if (!anchored && !is_refusal(anchored.error())) return anchored;
    }
    TRY(remember(round, *row));
  }
  return {};
}

Result<void> Planner::begin_replan(Round& round, const ScheduleRow& row, const ScheduleRow& before) {
  Replan replan{.schedule = row.id,
                .tenant = row.tenant,
                .name = row.name,
                .at = round.now,
                .ran_until = {},
                .before = before.definition,
                .paused_before = before.paused_until,
                .after = {},
                .compiled_before = {}};
  if (runs_at(before, round.now)) {
    replan.ran_until = round.now;
  } else if (const auto begun = replans_.find(row.id); begun != replans_.end()) {
    // What was due when it was paused is still being planned.
    replan.ran_until = begun->second.ran_until;
    replan.before = begun->second.before;
    replan.paused_before = begun->second.paused_before;
  }
  TRY(store_.admin().put_document(
      {.key = replan_key(row.tenant, row.name), .body = write_replan(replan), .if_revision = {}}, std::nullopt));
  // At once, for what is due in this very round. Should it fail, the step finds no document and drops it.
  replans_.insert_or_assign(row.id, std::move(replan));
  return {};
}

void Planner::resume_replan(const Document& document) {
  auto replan = read_replan(document);
  if (!replan) return;
  const ScheduleId id = replan->schedule;
  replans_.insert_or_assign(id, *std::move(replan));
}

Result<void> Planner::bring_up_to_date(Round& round, const Ruling& ruling, Replan& replan, const SubjectRow& subject) {
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

Result<void> Planner::replan_step(Round& round) {
  Replan& replan = replans_.begin()->second;
  const ScheduleId id = replan.schedule;
  const DocumentKey key = replan_key(replan.tenant, replan.name);
  const auto drop = [&] { round.on_commit.emplace_back([this, id] { replans_.erase(id); }); };
  const auto document = store_.admin().document(key);
  const auto row = store_.plans().schedule(id);
  const auto compiled = row ? compiler_.compile(*row) : Result<CompiledPtr>(std::unexpected(Error()));
  if (!document || !row || !compiled) {
    if (document) TRY(store_.admin().delete_document(key, std::nullopt));
    drop();
    return {};
  }
  TRY_ASSIGN(const SubjectSlice slice, store_.plans().subjects_after(id, replan.after, kReplanAtOnce));
  for (const SubjectRow& subject : slice.rows) TRY(bring_up_to_date(round, {*row, **compiled}, replan, subject));
  if (slice.end) {
    TRY(store_.admin().delete_document(key, std::nullopt));
    drop();
  } else {
    Replan further = replan;
    further.after = slice.next_after;
    further.done += std::ssize(slice.rows);
    TRY(store_.admin().put_document({.key = key, .body = write_replan(further), .if_revision = {}}, std::nullopt));
    round.on_commit.emplace_back([this, id, further = std::move(further)]() mutable {
      const auto known = replans_.find(id);
      if (known != replans_.end() && known->second.at == further.at) known->second = std::move(further);
    });
  }
  return remember(round, *row);
}

void Planner::note_cancelled(Round& round, std::string_view tenant, const std::vector<Changed>& cancelled) {
  for (const Changed& changed : cancelled) {
    round.add_ready(changed.ready);
    round.tell(JobChanged{.job = changed.id, .tenant = std::string(tenant), .state = changed.state});
  }
}

// What it does not come by before the engine ends is cancelled when it is claimed.
Result<void> Planner::cancel_step(Round& round) {
  const ScheduleId id = cancelling_.begin()->first;
  TRY_ASSIGN(const CancelStep step, store_.plans().cancel_unstarted(cancelling_.begin()->second, kCancelAtOnce));
  for (const Changed& changed : step.cancelled) note_cancelled(round, changed.tenant, {changed});
  round.on_commit.emplace_back([this, id, next = step.next_after, end = step.end] {
    if (end) {
      cancelling_.erase(id);
    } else {
      cancelling_[id] = next;
    }
  });
  return {};
}

}  // namespace carillon
