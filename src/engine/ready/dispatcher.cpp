#include "engine/ready/dispatcher.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"

namespace carillon {

namespace {

// As many may have left before they are taken out, though nobody counts.
constexpr std::size_t kLeftMax = 50'000;

std::uint64_t plain_key(const ReadyJob& job) {
  return (static_cast<std::uint64_t>(job.lane.value) << 32U) ^ static_cast<std::uint64_t>(job.type.value);
}

}  // namespace

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

PlaceId Dispatcher::plain_place(const ReadyJob& job, bool last_attempt) {
  auto& places = last_attempt ? last_places_ : plain_places_;
  const std::uint64_t key = plain_key(job);
  const auto known = places.find(key);
  if (known != places.end()) return known->second;
  const Lane lane = jobs_.lane(job.lane);
  const PlaceId place = this->place(
      {.tenant = lane.tenant, .queue = lane.queue, .type = job.type, .limits = {}, .last_attempt = last_attempt});
  places.emplace(key, place);
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
    PlaceId place;
    if (!job.has_options) {
      place = plain_place(job, job.last_attempt);
    } else {
      const auto found = traits.find(job.id);
      if (found == traits.end()) continue;  // it is gone
      const JobTraits& one = found->second;
      place = plain_place(job, one.last_attempt);
      if (!one.limits.empty() || one.notifies) {
        ReadyPlace wanted = ready_.place(place);
        wanted.limits = one.limits;
        wanted.notifies = one.notifies;
        place = ready_.place(wanted);
      }
    }
    const ReadyEntry entry = entry_of(job);
    // It is back as it stood: what has left must not be taken for it.
    if (!left_.empty() && left_.contains(entry)) tidy();
    if (job.run_at <= now) {
      ready_.add(place, entry);
    } else {
      push_later({.when = job.run_at, .entry = entry, .place = place});
    }
  }
  return {};
}

void Dispatcher::add_later(PlaceId place, ReadyEntry entry, Instant when) {
  spread_until_ = std::max(spread_until_, when);
  push_later({.when = when, .entry = entry, .place = place});
}

void Dispatcher::push_later(const Later& later) {
  later_.push_back(later);
  std::ranges::push_heap(later_, std::less());
}

Dispatcher::Later Dispatcher::pop_later() {
  std::ranges::pop_heap(later_, std::less());
  const Later first = later_.back();
  later_.pop_back();
  return first;
}

// Those that a gate let go were to wait for some seconds, which would now be as long as the clock was set back. And
// some that were due are not any more.
void Dispatcher::wait_for_their_own_time(Instant now) {
  spread_until_ = kInstantMin;
  for (Later& one : later_) one.when = one.entry.run_at;
  const auto is_early = [&](const ReadyEntry& entry) { return entry.run_at > now; };
  for (const ReadySet::Pick& early : ready_.take_if({.may_go = is_early, .goes = is_early})) {
    if (mutant(Mutant::early_jobs_dropped)) continue;
    later_.push_back({.when = early.entry.run_at, .entry = early.entry, .place = early.place});
  }
  std::ranges::make_heap(later_, std::less());
}

void Dispatcher::advance_to(Instant now) {
  if (now < std::exchange(seen_, now)) wait_for_their_own_time(now);
  std::optional<Instant> last;
  while (!later_.empty() && later_.front().when <= now) {
    const Later due = pop_later();
    const bool is_lost = mutant(Mutant::equal_run_at_lost) && last == due.when;
    if (!is_lost && !has_left(due.entry)) ready_.add(due.place, due.entry);
    last = due.when;
  }
}

// ---- What has left -------------------------------------------------------------------------------------------------

std::optional<ReadySet::Pick> Dispatcher::standing(const ReadyJob& job) const {
  // Whatever stands here had a plain place first, of one kind or the other.
  for (const auto* const places : {&plain_places_, &last_places_}) {
    const auto place = places->find(plain_key(job));
    if (place != places->end()) return ReadySet::Pick{.place = place->second, .entry = entry_of(job)};
  }
  return std::nullopt;
}

void Dispatcher::left(const ReadyJob& stood) {
  if (const auto at = standing(stood)) left(*at);
}

void Dispatcher::left(const ReadySet::Pick& stood) {
  if (mutant(Mutant::cancelled_stays_ready)) return;
  ++left_[stood.entry];
  left_at_.insert(stood.place);
  if (left_.size() >= kLeftMax) tidy();
}

bool Dispatcher::has_left(const ReadyEntry& entry) {
  if (left_.empty()) return false;
  const auto found = left_.find(entry);
  if (found == left_.end()) return false;
  if (--found->second == 0) left_.erase(found);
  return true;
}

void Dispatcher::tidy() {
  if (left_.empty()) return;
  const auto goes = [this](const ReadyEntry& entry) { return has_left(entry); };
  ready_.take_if(
      {.places = &left_at_, .may_go = [this](const ReadyEntry& entry) { return left_.contains(entry); }, .goes = goes});
  if (std::erase_if(later_, [&](const Later& one) { return goes(one.entry); }) > 0)
    std::ranges::make_heap(later_, std::less());
  left_.clear();
  left_at_.clear();
}

std::size_t Dispatcher::due(Instant now, std::optional<std::string_view> tenant) {
  tidy();
  const std::size_t standing = tenant ? ready_.size(*tenant) : ready_.size();
  const bool is_behind = !later_.empty() && later_.front().when <= now;
  if (spread_until_ <= now && !is_behind) return standing;
  return standing + static_cast<std::size_t>(std::ranges::count_if(later_, [&](const Later& one) {
           return one.entry.run_at <= now && (!tenant || ready_.place(one.place).tenant == *tenant);
         }));
}

std::optional<ReadySet::Pick> Dispatcher::pick(Instant now, ReadySet::For what) {
  for (;;) {
    auto pick = ready_.pick(now, what);
    if (!pick || !has_left(pick->entry)) return pick;
    ready_.drop(*pick, now);
  }
}

bool Dispatcher::means_type(const PullFilter& filter, TypeId type) const {
  if (filter.types.empty()) return true;
  // A place of leases that an earlier node gave may have had no job here yet.
  const auto name = type_names_.find(type.value);
  if (name != type_names_.end()) return filter.types.contains(name->second);
  return type.value != 0 && filter.types.contains(jobs_.type_name(type));
}

// All places there are, at once: who asks for something new each time must not have all of them looked at each time.
void Dispatcher::look_at_tenants(PullView& view) const {
  const PullFilter& filter = view.filter_;
  const auto is_meant = [&](TypeId type) { return means_type(filter, type); };
  for (std::size_t i = 0; i < filter.tenants.size(); ++i) {
    const std::vector<PlaceId> places = ready_.places_of(filter.tenants[i], filter.queues, is_meant);
    view.places_.insert(view.places_.end(), places.begin(), places.end());
  }
  std::ranges::sort(view.places_);
  view.has_.resize(ready_.place_count());
  for (const PlaceId place : view.places_) view.has_[place.value] = true;
}

void Dispatcher::look_for_places(PullView& view) const {
  const PullFilter& filter = view.filter_;
  if (view.has_.empty() && !filter.tenants.empty()) return look_at_tenants(view);
  for (auto next = static_cast<std::uint32_t>(view.has_.size()); next < ready_.place_count(); ++next) {
    const ReadyPlace& place = ready_.place(PlaceId{next});
    const bool is_meant = filter.tenants.is_any_or_has(place.tenant) && filter.queues.is_any_or_has(place.queue) &&
                          means_type(filter, place.type);
    view.has_.push_back(is_meant);
    if (is_meant) view.places_.push_back(PlaceId{next});
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
      if (has_left(pick.entry)) {
        ready_.pulled_back(pick, ReadySet::Entry::is_gone, now);
        has_dropped = true;
      } else {
        all.picks.push_back(pick);
      }
    }
    if (!has_dropped) return all;
  }
}

std::optional<Instant> Dispatcher::next_due() const {
  if (later_.empty()) return std::nullopt;
  return later_.front().when;
}

}  // namespace carillon
