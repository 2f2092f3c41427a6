#include "engine/planning/schedule_index.h"

#include <algorithm>

#include "base/mutant.h"

namespace carillon {

namespace {

constexpr std::size_t kLoadPage = 500;
constexpr std::size_t kTraitsAtOnce = 500;

}  // namespace

void ScheduleIndex::erase_entry(ScheduleId id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  const Entry& entry = found->second;
  if (entry.wake_at) due_.erase({*entry.wake_at, id});
  if (!entry.after.empty()) followers_[{entry.tenant, entry.after}].erase(id);
  entries_.erase(found);
}

void ScheduleIndex::set_entry(ScheduleId id, Entry entry) {
  erase_entry(id);
  if (entry.wake_at) due_.insert({*entry.wake_at, id});
  if (!entry.after.empty()) followers_[{entry.tenant, entry.after}].insert(id);
  entries_.emplace(id, std::move(entry));
}

void ScheduleIndex::remember(Round& round, const ScheduleRow& row, std::optional<Instant> next_at) {
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
    held_.release(id, "");
  });
}

Result<void> ScheduleIndex::remember(Round& round, const ScheduleRow& row) {
  TRY_ASSIGN(const std::optional<Instant> next_at, store_.plans().next_subject_at(row.id));
  remember(round, row, next_at);
  return {};
}

void ScheduleIndex::forget_traits(Round& round, ScheduleId id) {
  // Also if it fails: somebody may have asked about what it was to be.
  const auto reset = [this, id] {
    if (const auto found = entries_.find(id); found != entries_.end()) found->second.traits.reset();
  };
  round.on_commit.emplace_back(reset);
  round.on_failure.emplace_back(reset);
}

void ScheduleIndex::count_open_days(Round& round, const ScheduleRow& row) {
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

void ScheduleIndex::forget(Round& round, ScheduleId id) {
  round.on_commit.emplace_back([this, id] {
    open_days_.forget(id);
    erase_entry(id);
    compiler_.forget(id);
    replans_.erase(id);
    held_.forget(id);
  });
}

void ScheduleIndex::load_again() {
  loaded_to_ = followers_to_ = {};
  open_days_.forget_all();
}

// It is woken then also if it was woken before and the clock was set back since.
void ScheduleIndex::wake_by(ScheduleId id, Instant when) {
  const auto found = entries_.find(id);
  if (found == entries_.end() || (found->second.wake_at && *found->second.wake_at <= when)) return;
  Entry entry = found->second;
  entry.wake_at = when;
  set_entry(id, std::move(entry));
}

bool ScheduleIndex::is_due(ScheduleId id, Instant now) const {
  const auto entry = entries_.find(id);
  return entry != entries_.end() && entry->second.wake_at && *entry->second.wake_at <= now;
}

std::vector<ScheduleId> ScheduleIndex::ids_of(std::string_view tenant) const {
  std::vector<ScheduleId> ids;
  for (const auto& [id, entry] : entries_) {
    if (tenant.empty() || entry.tenant == tenant) ids.push_back(id);
  }
  return ids;
}

const std::set<ScheduleId>* ScheduleIndex::followers_of(std::string_view tenant, std::string_view name) const {
  const auto found = followers_.find({std::string(tenant), std::string(name)});
  return found == followers_.end() ? nullptr : &found->second;
}

ScheduleIndex::Traits ScheduleIndex::known_traits(ScheduleId id) {
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

ScheduleIndex::SweepNext ScheduleIndex::next_by_subject(ScheduleId after) {
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

std::optional<Instant> ScheduleIndex::next_due() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

// All of them, before anything starts: a parent may be done long before its follower's page is read (invariant 31).
Result<bool> ScheduleIndex::load_followers(Round& round) {
  TRY_ASSIGN(const std::vector<ScheduleRow> rows, store_.plans().followers(followers_to_, kLoadPage));
  for (const ScheduleRow& row : rows) TRY(remember(round, row));
  if (!rows.empty()) round.on_commit.emplace_back([this, last = rows.back().id] { followers_to_ = last; });
  return rows.size() < kLoadPage;
}

Result<bool> ScheduleIndex::load(Round& round) {
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

}  // namespace carillon
