#include "engine/dispatcher.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"

namespace carillon {

void Dispatcher::serve_only(Serves serves) {
  serves_ = std::move(serves);
  serving_changed({});
}

void Dispatcher::limit_types(TypeLimits limits) {
  type_limits_ = std::move(limits);
  serving_changed({});
}

void Dispatcher::share_slots(Serves waits_outside) {
  waits_outside_ = std::move(waits_outside);
  serving_changed({});
}

void Dispatcher::set_slots(std::size_t slots, Instant now) {
  if (!waits_outside_ || std::exchange(slots_, slots) == slots) return;
  const auto at_least_one = static_cast<std::uint32_t>(std::max<std::size_t>(1, slots));
  ready_.set_limit({}, kOutsideShare, LimitRule{.concurrency = at_least_one}, now);
}

void Dispatcher::serving_changed(std::string_view tenant) {
  // Its first job must find a slot that others have left: they have to know of it before it comes.
  if (!tenant.empty()) ready_.know_tenant(tenant);
  for (const auto& [name, types] : types_) {
    if (!tenant.empty() && name != tenant) continue;
    for (const TypeId type : types) ask_about(name, type);
  }
}

void Dispatcher::ask_about(const std::string& tenant, TypeId type) {
  const std::string& name = type_names_.at(type.value);
  if (serves_) ready_.set_type_closed(tenant, type, !serves_(tenant, name));
  if (!type_limits_ && !waits_outside_) return;
  std::vector<std::string> limits;
  if (type_limits_) limits = type_limits_(tenant, name);
  if (waits_outside_ && waits_outside_(tenant, name)) limits.emplace_back(kOutsideShare);
  ready_.set_type_limits(tenant, type, limits, jobs_.now());
}

void Dispatcher::know(const std::string& tenant, TypeId type) {
  if (!types_[tenant].insert(type).second) return;
  if (!type_names_.contains(type.value)) type_names_.emplace(type.value, jobs_.type_name(type));
  ask_about(tenant, type);
}

PlaceId Dispatcher::place(const ReadyPlace& place) {
  know(place.tenant, place.type);
  return ready_.place(place);
}

PlaceId Dispatcher::plain_place(const ReadyJob& job) {
  const auto key = (static_cast<std::uint64_t>(job.lane.value) << 32U) ^ static_cast<std::uint64_t>(job.type.value);
  const auto known = plain_places_.find(key);
  if (known != plain_places_.end()) return known->second;
  const Lane lane = jobs_.lane(job.lane);
  const PlaceId place = this->place({.tenant = lane.tenant, .queue = lane.queue, .type = job.type});
  plain_places_.emplace(key, place);
  return place;
}

Result<void> Dispatcher::add(std::span<const ReadyJob> jobs, Instant horizon, Instant now) {
  std::vector<JobId> with_options;
  for (const ReadyJob& job : jobs) {
    if (job.has_options && job.run_at <= horizon) with_options.push_back(job.id);
  }
  std::unordered_map<JobId, JobTraits> traits;
  if (!with_options.empty()) {
    TRY_ASSIGN(std::vector<JobTraits> found, jobs_.traits(with_options));
    for (JobTraits& one : found) traits.emplace(one.id, std::move(one));
  }
  for (const ReadyJob& job : jobs) {
    if (job.run_at > horizon) continue;
    PlaceId place = plain_place(job);
    if (job.has_options) {
      const auto found = traits.find(job.id);
      if (found == traits.end()) continue;  // it is gone
      const JobTraits& one = found->second;
      if (!one.limits.empty() || one.notifies) {
        ReadyPlace wanted = ready_.place(place);
        wanted.limits = one.limits;
        wanted.notifies = one.notifies;
        place = ready_.place(wanted);
      }
    }
    const ReadyEntry entry{.id = job.id, .run_at = job.run_at, .priority = job.priority};
    if (job.run_at <= now) {
      ready_.add(place, entry);
    } else {
      later_.push({.when = job.run_at, .entry = entry, .place = place});
    }
  }
  return {};
}

void Dispatcher::add_later(PlaceId place, ReadyEntry entry, Instant when) {
  later_.push({.when = when, .entry = entry, .place = place});
}

// Those that a gate let go were to wait for some seconds, which would now be as long as the clock was set back.
void Dispatcher::wait_for_their_own_time() {
  std::priority_queue<Later> waiting;
  for (; !later_.empty(); later_.pop()) {
    Later one = later_.top();
    one.when = one.entry.run_at;
    waiting.push(one);
  }
  later_ = std::move(waiting);
}

void Dispatcher::advance_to(Instant now) {
  if (now < std::exchange(seen_, now)) wait_for_their_own_time();
  std::optional<Instant> last;
  while (!later_.empty() && later_.top().when <= now) {
    const Later& due = later_.top();
    const bool is_lost = mutant(Mutant::equal_run_at_lost) && last == due.when;
    if (!is_lost) ready_.add(due.place, due.entry);
    last = due.when;
    later_.pop();
  }
}

bool Dispatcher::is_current(const ReadyEntry& entry) {
  if (priorities_.empty()) return true;
  const auto changed = priorities_.find(entry.id);
  if (changed == priorities_.end()) return true;
  if (changed->second != entry.priority) return false;
  priorities_.erase(changed);
  return true;
}

std::optional<ReadySet::Pick> Dispatcher::pick(Instant now, ReadySet::For what) {
  for (;;) {
    auto pick = ready_.pick(now, what);
    if (!pick || is_current(pick->entry)) return pick;
    ready_.drop(*pick, now);
  }
}

bool Dispatcher::matches(const PullFilter& filter, const ReadyPlace& place) const {
  const auto names = [](const std::vector<std::string>& list, const std::string& name) {
    return list.empty() || std::ranges::find(list, name) != list.end();
  };
  if (!names(filter.tenants, place.tenant) || !names(filter.queues, place.queue)) return false;
  if (filter.types.empty()) return true;
  // A place of leases that an earlier node gave may have had no job here yet.
  const auto type = type_names_.find(place.type.value);
  if (type != type_names_.end()) return names(filter.types, type->second);
  return place.type.value != 0 && names(filter.types, jobs_.type_name(place.type));
}

void Dispatcher::look_for_places(PullView& view) const {
  for (auto next = static_cast<std::uint32_t>(view.has_.size()); next < ready_.place_count(); ++next) {
    const PlaceId place{next};
    const bool is_meant = matches(view.filter_, ready_.place(place));
    view.has_.push_back(is_meant);
    if (is_meant) view.places_.push_back(place);
  }
}

ReadySet::Pulled Dispatcher::pull(const PullView& view, std::size_t limit, Instant now) {
  ReadySet::Pulled all;
  for (;;) {
    ReadySet::Pulled some = ready_.pull(
        {.places = view.places(), .served_too = !view.filter().types.empty(), .limit = limit - all.picks.size()}, now);
    all.held = some.held;
    all.opens_at = some.opens_at;
    bool has_dropped = false;
    for (const ReadySet::Pick& pick : some.picks) {
      if (is_current(pick.entry)) {
        all.picks.push_back(pick);
      } else {
        ready_.pulled_back(pick, ReadySet::Entry::is_gone, now);
        has_dropped = true;
      }
    }
    if (!has_dropped) return all;
  }
}

std::optional<Instant> Dispatcher::next_due() const {
  if (later_.empty()) return std::nullopt;
  return later_.top().when;
}

}  // namespace carillon
