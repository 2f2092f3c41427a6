// What workers outside take from the ready set: among the places that they name, in turns of their own.
#include <algorithm>
#include <set>

#include "engine/ready/ready_set.h"

namespace carillon {

namespace {

// What one turn of a tenant with weight 1 costs it; a heavier one pays less.
constexpr std::uint64_t kTurn = 1U << 20U;

std::uint64_t turn_of(std::uint32_t weight) { return kTurn / std::clamp<std::uint64_t>(weight, 1, kTurn); }

}  // namespace

// The lines that one call may take from, by tenant and lane. Whoever is furthest behind is next; who was away catches
// up with those whose turn was last, and no further.
class ReadySet::PullTurns {
 public:
  explicit PullTurns(ReadySet& ready) : ready_(ready) {}
  PullTurns(const PullTurns&) = delete;
  PullTurns& operator=(const PullTurns&) = delete;
  ~PullTurns() = default;

  void add(ReadyLine& line) {
    Lanes& lanes = tenants_[line.tenant];
    if (lanes.empty()) order_.emplace(ready_.tenants_[line.tenant].pull_time, line.tenant);
    lanes[line.lane].push_back(&line);
  }

  std::optional<Pick> next(Pulled& pulled, Instant now) {
    while (!order_.empty()) {
      const std::uint32_t number = order_.begin()->second;
      Lanes& lanes = tenants_[number];
      while (!lanes.empty()) {
        const auto lane = std::ranges::min_element(
            lanes, {}, [&](const auto& one) { return std::pair(ready_.lanes_[one.first].pull_time, one.first); });
        if (auto pick = take_from(lane->first, lane->second, pulled, now)) {
          order_.erase(order_.begin());
          Tenant& tenant = ready_.tenants_[number];
          ready_.pull_time_ = std::max(ready_.pull_time_, tenant.pull_time);
          tenant.pull_time = ready_.pull_time_ + turn_of(tenant.weight);
          order_.emplace(tenant.pull_time, number);
          return pick;
        }
        lanes.erase(lane);
      }
      order_.erase(order_.begin());
    }
    return std::nullopt;
  }

 private:
  using Lines = std::vector<ReadyLine*>;
  using Lanes = std::map<std::uint32_t, Lines>;

  std::optional<Pick> take_from(std::uint32_t number, Lines& lines, Pulled& pulled, Instant now) {
    // What was taken since may have used up a cap or a limit.
    std::erase_if(lines,
                  [&](const ReadyLine* line) { return line->empty() || !ready_.may_be_pulled(*line, pulled, now); });
    if (lines.empty()) return std::nullopt;
    Lane& lane = ready_.lanes_[number];
    const bool for_oldest = lane.pull_turns % kOldestEvery == kOldestEvery - 1;
    ReadyLine* const line =
        for_oldest ? *std::ranges::min_element(lines, {}, [](const ReadyLine* one) { return one->oldest(); })
                   : *std::ranges::min_element(lines, {}, [](const ReadyLine* one) { return one->first(); });
    ++lane.pull_turns;
    Tenant& tenant = ready_.tenants_[lane.tenant];
    tenant.lane_time = std::max(tenant.lane_time, lane.pull_time);
    lane.pull_time = tenant.lane_time + kTurn;
    return ready_.take_out(*line, for_oldest ? ReadyChoice::oldest : ReadyChoice::first, now);
  }

  ReadySet& ready_;
  std::map<std::uint32_t, Lanes> tenants_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> order_;
};

bool ReadySet::has_room(const ReadyLine& line) const {
  const Tenant& tenant = tenants_[line.tenant];
  const Lane& lane = lanes_[line.lane];
  return !tenant.closed && !lane.closed && !(tenant.cap && tenant.running >= *tenant.cap) &&
         !(lane.cap && lane.running >= *lane.cap);
}

bool ReadySet::may_be_pulled(const ReadyLine& line, Pulled& pulled, Instant now) {
  const bool is_open = !all_closed_ && has_room(line) && !is_quiet(line);
  auto blocking = is_open ? limits_.blocking(line, now) : std::nullopt;
  // A worker outside takes no slot of this node.
  if (blocking && limits_.name(*blocking) == kOutsideShare) blocking.reset();
  if (is_open && !blocking) return true;
  pulled.held = true;
  if (!blocking) return false;
  const auto opens = limits_.opens_at(*blocking, now);
  if (opens && (!pulled.opens_at || *opens < *pulled.opens_at)) pulled.opens_at = opens;
  return false;
}

ReadySet::Pulled ReadySet::pull(const PullRequest& request, Instant now) {
  Pulled pulled;
  PullTurns turns(*this);
  for (const PlaceId place : request.places) {
    ReadyLine& line = lines_[place.value];
    if (line.empty() || !(request.served_too || is_unserved(line))) continue;
    if (may_be_pulled(line, pulled, now)) turns.add(line);
  }
  while (pulled.picks.size() < request.limit) {
    auto pick = turns.next(pulled, now);
    if (!pick) break;
    pulled.picks.push_back(*pick);
  }
  return pulled;
}

void ReadySet::pulled_back(const Pick& pick, Entry entry, Instant now) {
  ReadyLine& line = lines_[pick.place.value];
  limits_.give_back(line, now);
  if (!line.limits.empty()) ++openings_;
  count(line, Count::down);
  Tenant& tenant = tenants_[line.tenant];
  tenant.pull_time -= std::min(tenant.pull_time, turn_of(tenant.weight));
  Lane& lane = lanes_[line.lane];
  if (lane.pull_turns > 0) --lane.pull_turns;
  if (entry == Entry::stands_again) put(line, pick.entry);
}

std::vector<PlaceId> ReadySet::take_arrivals() {
  for (const PlaceId place : arrivals_) lines_[place.value].touched = false;
  return std::exchange(arrivals_, {});
}

}  // namespace carillon
