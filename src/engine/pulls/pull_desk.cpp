#include "engine/pulls/pull_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/hole.h"

namespace carillon {

namespace {

// Groups nobody waits in are kept up to this: a worker that comes again finds its places looked up.
constexpr std::size_t kIdleGroupsMax = 64;

void keep_earlier(std::optional<Instant>& earliest, std::optional<Instant> at) {
  if (at && (!earliest || *at < *earliest)) earliest = at;
}

std::uint64_t first_id(const PullGroup& group) {
  const auto first = std::ranges::find_if(group.waiting, [](const PullCallPtr& call) { return call->is_waiting(); });
  return first == group.waiting.end() ? UINT64_MAX : (*first)->id;
}

}  // namespace

// ---- Calls
// -----------------------------------------------------------------------------------------------------------

void PullDesk::note_look(PullGroup& group) {
  group.look = true;
  has_to_look_ = true;
}

// Where somebody may stand now.
Result<PullGroup*> PullDesk::group_for(const PullFilter& filter) {
  const auto found = groups_.find(filter);
  if (found != groups_.end() && !found->second->in_idle) return found->second.get();
  std::size_t& waiting = waiting_of_[filter.tenants];
  if (waiting >= kFiltersWaitingMax) {
    return std::unexpected(Error{
        .code = ErrorCode::unavailable,
        .message = fmt::format("workers with {} different lists of queues and types wait for these tenants, as many as "
                               "are allowed; let those that do the same work ask for the same",
                               kFiltersWaitingMax),
        .field = "types"});
  }
  ++waiting;
  if (found == groups_.end()) return groups_.emplace(filter, std::make_shared<PullGroup>(filter)).first->second.get();
  idle_.erase(*std::exchange(found->second->in_idle, std::nullopt));
  return found->second.get();
}

void PullDesk::now_idle(PullGroup& group) {
  group.look = true;  // nobody keeps it up to date any more
  group.in_idle = idle_.insert(idle_.end(), &group);
  const auto waiting = waiting_of_.find(group.view.filter().tenants);
  if (--waiting->second == 0) waiting_of_.erase(waiting);
  if (idle_.size() <= kIdleGroupsMax) return;
  const PullGroup* const oldest = idle_.front();
  idle_.pop_front();
  groups_.erase(groups_.find(oldest->view.filter()));
}

Result<void> PullDesk::add(const PullCallPtr& call, Dispatcher& dispatcher, BootTime boot) {
  take_forgotten_out();
  // Who has gone by now was forgotten before it stood here, and nobody would take it out. Who goes after this is.
  if (!call->is_waiting() && !reopened(Hole::gone_calls_wait)) return {};
  TRY_ASSIGN(PullGroup* const standing, group_for(call->request.filter));
  PullGroup& group = *standing;
  call->request.filter = group.view.filter();  // one text for all who ask for the same
  // Who comes after others that wait has nothing to look for: there was nothing for them.
  if (group.waiting.empty()) note_look(group);
  call->ends = boot + call->request.wait;
  call->group = groups_.find(group.view.filter())->second;
  group.waiting.push_back(call);
  call->in_group = std::prev(group.waiting.end());
  ends_.emplace(std::pair(call->ends, call->id), call);
  ++in_line_;
  watch(dispatcher);
  return {};
}

void PullDesk::notice(Dispatcher& dispatcher, Instant now) {
  if (in_line_ == 0) return;
  const std::vector<PlaceId> arrivals = dispatcher.ready().take_arrivals();
  const std::uint64_t openings = dispatcher.ready().openings();
  const bool has_opened = openings != openings_;
  openings_ = openings;
  const bool is_time = next_look_ && *next_look_ <= now;
  if (arrivals.empty() && !has_opened && !is_time) return;
  next_look_.reset();
  for (const auto& [filter, group] : groups_) {
    if (group->waiting.empty()) continue;
    if (!arrivals.empty()) dispatcher.look_for_places(group->view);
    const bool has_come = std::ranges::any_of(arrivals, [&](PlaceId place) { return group->view.contains(place); });
    const bool opens = group->opens_at && *group->opens_at <= now;
    if (has_come || opens || (has_opened && group->held)) {
      note_look(*group);
    } else {
      keep_earlier(next_look_, group->opens_at);
    }
  }
}

std::vector<std::shared_ptr<PullGroup>> PullDesk::to_look() {
  std::vector<std::pair<std::uint64_t, std::shared_ptr<PullGroup>>> ordered;
  for (const auto& [filter, group] : groups_) {
    if (group->look && !group->waiting.empty()) ordered.emplace_back(first_id(*group), group);
  }
  std::ranges::sort(ordered, {}, [](const auto& one) { return one.first; });
  std::vector<std::shared_ptr<PullGroup>> groups;
  groups.reserve(ordered.size());
  for (auto& [id, group] : ordered) groups.push_back(std::move(group));
  has_to_look_ = false;
  return groups;
}

void PullDesk::nothing_for(PullGroup& group, const ReadySet::Pulled& pulled) {
  group.look = false;
  group.short_of_room = false;
  group.held = pulled.held;
  group.opens_at = pulled.opens_at;
  keep_earlier(next_look_, group.opens_at);
}

void PullDesk::all_served(PullGroup& group) { nothing_for(group, {}); }

void PullDesk::no_room_for(PullGroup& group) {
  nothing_for(group, {});
  group.short_of_room = true;
  is_short_of_room_ = true;
}

void PullDesk::room_is_there() {
  if (!std::exchange(is_short_of_room_, false)) return;
  for (const auto& [filter, group] : groups_) {
    if (group->short_of_room && !group->waiting.empty()) note_look(*group);
  }
}

void PullDesk::look_again() {
  for (const auto& [filter, group] : groups_) {
    if (!group->waiting.empty()) note_look(*group);
  }
}

// `call` is held by somebody else than the lists that it leaves.
void PullDesk::take_out(const PullCallPtr& call) {
  if (!call->group) return;
  ends_.erase({call->ends, call->id});
  call->group->waiting.erase(call->in_group);
  // With nobody in line there is nothing to look for: a round that took it for work would follow on the next for ever.
  if (--in_line_ == 0) {
    has_to_look_ = false;
    next_look_.reset();
  }
  const std::shared_ptr<PullGroup> group = std::exchange(call->group, nullptr);
  if (group->waiting.empty()) now_idle(*group);
}

void PullDesk::remove(const PullCallPtr& call, Dispatcher& dispatcher) {
  take_out(call);
  watch(dispatcher);
}

void PullDesk::forget(PullCallPtr call) {
  if (reopened(Hole::gone_calls_wait)) return;
  forgotten_.put(std::move(call));
}

void PullDesk::take_forgotten_out() {
  for (const PullCallPtr& call : forgotten_.take()) take_out(call);
}

std::vector<PullCallPtr> PullDesk::take_ended(Dispatcher& dispatcher, BootTime boot) {
  take_forgotten_out();
  std::vector<PullCallPtr> ended;
  while (!ends_.empty() && ends_.begin()->first.first <= boot) {
    ended.push_back(ends_.begin()->second);
    take_out(ended.back());
  }
  watch(dispatcher);
  return ended;
}

std::vector<PullCallPtr> PullDesk::take_all(Dispatcher& dispatcher) {
  std::vector<PullCallPtr> all;
  while (!ends_.empty()) {
    all.push_back(ends_.begin()->second);
    take_out(all.back());
  }
  watch(dispatcher);
  return all;
}

std::optional<BootTime> PullDesk::next_end() const {
  if (ends_.empty()) return std::nullopt;
  return ends_.begin()->first.first;
}

// ---- Leases
// ----------------------------------------------------------------------------------------------------------

void PullDesk::lease(const RunPtr& run, PullWorkers::Key worker) {
  workers_.leased(worker, run->job.tenant);
  leases_.insert_or_assign(run->job.id, Lease{.run = run, .worker = std::move(worker)});
}

RunPtr PullDesk::find(JobId job) const {
  const auto found = leases_.find(job);
  return found == leases_.end() ? nullptr : found->second.run;
}

RunPtr PullDesk::find(JobId job, std::int64_t token) const {
  RunPtr run = find(job);
  return run && run->job.token == token ? run : nullptr;
}

void PullDesk::remove(const Run& run) {
  const auto found = leases_.find(run.job.id);
  if (found == leases_.end() || found->second.run.get() != &run) return;
  workers_.ended(found->second.worker, run.job.tenant);
  leases_.erase(found);
}

void PullDesk::heard_of(JobId job, Instant now) {
  const auto found = leases_.find(job);
  if (found != leases_.end()) workers_.seen(found->second.worker, now);
}

std::vector<RunPtr> PullDesk::all_leases() const {
  std::vector<RunPtr> runs;
  runs.reserve(leases_.size());
  for (const auto& [id, lease] : leases_) runs.push_back(lease.run);
  // The same order in every process: what follows from it must not depend on a hash table.
  std::ranges::sort(runs, {}, [](const RunPtr& run) { return run->job.id; });
  return runs;
}

}  // namespace carillon
