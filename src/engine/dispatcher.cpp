#include "engine/dispatcher.h"

#include <utility>

#include "base/mutant.h"

namespace carillon {

void Dispatcher::serve_only(std::function<bool(std::string_view)> serves) {
  serves_ = std::move(serves);
  for (const TypeId type : types_) close_unless_served(type);
}

void Dispatcher::close_unless_served(TypeId type) {
  if (serves_) ready_.set_type_closed(type, !serves_(jobs_.type_name(type)));
}

PlaceId Dispatcher::plain_place(const ReadyJob& job) {
  const auto key = (static_cast<std::uint64_t>(job.lane.value) << 32U) ^ static_cast<std::uint64_t>(job.type.value);
  const auto known = plain_places_.find(key);
  if (known != plain_places_.end()) return known->second;
  const Lane lane = jobs_.lane(job.lane);
  const PlaceId place = ready_.place({.tenant = lane.tenant, .queue = lane.queue, .type = job.type});
  plain_places_.emplace(key, place);
  if (types_.insert(job.type).second) close_unless_served(job.type);
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

std::optional<ReadySet::Pick> Dispatcher::pick(Instant now, ReadySet::For what) {
  for (;;) {
    auto pick = ready_.pick(now, what);
    if (!pick || priorities_.empty()) return pick;
    const auto changed = priorities_.find(pick->entry.id);
    if (changed == priorities_.end()) return pick;
    if (changed->second == pick->entry.priority) {
      priorities_.erase(changed);
      return pick;
    }
    ready_.drop(*pick, now);
  }
}

std::optional<Instant> Dispatcher::next_due() const {
  if (later_.empty()) return std::nullopt;
  return later_.top().when;
}

}  // namespace carillon
