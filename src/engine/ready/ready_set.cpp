// The entries of the ready set: where they stand, how they are taken, what their end frees. ready_rules.cpp has the
// rest.
#include "engine/ready/ready_set.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"

namespace carillon {

namespace {

// So many limits get to wake a line at each pick. An attempt that ends opens at most those of its job and those of its
// type, and one pick takes its place.
constexpr std::size_t kWakesPerPick = 2 * kLimitsMax;

}  // namespace

// ---- Places --------------------------------------------------------------------------------------------------------

std::uint32_t ReadySet::tenant_number(std::string_view name) {
  if (const auto found = tenant_numbers_.find(name); found != tenant_numbers_.end()) {
    know(tenants_[found->second]);
    return found->second;
  }
  const auto number = static_cast<std::uint32_t>(tenants_.size());
  know(tenants_.emplace_back());
  tenant_numbers_.emplace(name, number);
  return number;
}

void ReadySet::know(Tenant& tenant) {
  if (std::exchange(tenant.known, true)) return;
  limits_.set_tenant_count(++known_, kInstantMin);
}

std::uint32_t ReadySet::lane_number(std::uint32_t tenant, std::string_view queue) {
  auto& numbers = tenants_[tenant].lanes;
  if (const auto found = numbers.find(queue); found != numbers.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(lanes_.size());
  lanes_.push_back({.tenant = tenant});
  numbers.emplace(queue, number);
  return number;
}

PlaceId ReadySet::place(const ReadyPlace& place) {
  if (const auto found = place_ids_.find(place); found != place_ids_.end()) return found->second;
  const PlaceId id{static_cast<std::uint32_t>(lines_.size())};
  places_.push_back(&place_ids_.emplace(place, id).first->first);

  ReadyLine& line = lines_.emplace_back();
  line.place = id;
  line.tenant = tenant_number(place.tenant);
  line.lane = lane_number(line.tenant, place.queue);
  lanes_[line.lane].lines.push_back(&line);
  line.limits = limits_at(place);
  types_[place.type].lines.push_back(&line);
  Tenant::Type& type = tenants_[line.tenant].types[place.type];
  type.lines.push_back(&line);
  line.unserved = type.closed;
  line.outside = type.outside;
  if (place.notifies) tenants_[line.tenant].notifying.push_back(&line);
  return id;
}

std::vector<PlaceId> ReadySet::places_of(std::string_view tenant, const NameSet& queues,
                                         const std::function<bool(TypeId)>& is_meant) const {
  std::vector<PlaceId> found;
  const Tenant* const known = find_tenant(tenant);
  if (known == nullptr) return found;
  if (!queues.empty() && queues.size() < known->types.size()) {
    for (std::size_t i = 0; i < queues.size(); ++i) {
      const auto lane = known->lanes.find(queues[i]);
      if (lane == known->lanes.end()) continue;
      for (const ReadyLine* const line : lanes_[lane->second].lines) {
        if (is_meant(place(line->place).type)) found.push_back(line->place);
      }
    }
    return found;
  }
  for (const auto& [type, of_type] : known->types) {
    if (!is_meant(type)) continue;
    for (const ReadyLine* const line : of_type.lines) {
      if (queues.is_any_or_has(place(line->place).queue)) found.push_back(line->place);
    }
  }
  return found;
}

std::vector<std::uint32_t> ReadySet::limits_at(const ReadyPlace& place) {
  const std::uint32_t tenant = tenant_number(place.tenant);
  std::vector<std::uint32_t> limits;
  const std::vector<std::string>& of_type = tenants_[tenant].types[place.type].limits;
  for (const std::vector<std::string>* const names : {&place.limits, &of_type}) {
    for (const std::string& name : *names) {
      const std::uint32_t limit = limits_.intern(tenant, name);
      if (std::ranges::find(limits, limit) == limits.end()) limits.push_back(limit);
    }
  }
  return limits;
}

// ---- Lines ---------------------------------------------------------------------------------------------------------

bool ReadySet::is_unserved(const ReadyLine& line) const {
  return line.unserved || types_.at(place(line.place).type).closed;
}

bool ReadySet::is_quiet(const ReadyLine& line) const {
  return place(line.place).notifies && tenants_[line.tenant].quiet;
}

bool ReadySet::shut(const ReadyLine& line) const { return is_unserved(line) || is_quiet(line); }

// Whether its limits let it is seen when its turn comes.
void ReadySet::stand(ReadyLine& line) {
  CHECK(!line.standing && !line.waits_for);
  line.standing = true;
  open_.insert(line);
}

void ReadySet::leave(ReadyLine& line) {
  if (line.waits_for) limits_.unpark(line);
  if (line.standing) open_.erase(line);
  line.standing = false;
}

// In one of the orders exactly if it has jobs and is not shut.
void ReadySet::settle(ReadyLine& line) {
  const bool should = !line.empty() && !shut(line);
  const bool is = line.standing || line.waits_for;
  if (should && !is) stand(line);
  if (!should && is) leave(line);
}

void ReadySet::put(ReadyLine& line, const ReadyEntry& entry) {
  line.add(entry);
  ++size_;
  ++tenants_[line.tenant].size;
  know(tenants_[line.tenant]);
  if (watching_ && !line.touched) {
    line.touched = true;
    arrivals_.push_back(line.place);
  }
  if (line.standing) {
    open_.update(line);
  } else if (line.waits_for) {
    limits_.update(line);
  } else {
    settle(line);
  }
}

void ReadySet::add(PlaceId place, const ReadyEntry& entry) { put(lines_[place.value], entry); }

std::vector<ReadySet::Pick> ReadySet::take_all(std::string_view tenant, bool only_notifying) {
  std::vector<Pick> taken;
  for (ReadyLine& line : lines_) {
    const ReadyPlace& at = place(line.place);
    if ((!tenant.empty() && at.tenant != tenant) || (only_notifying && !at.notifies)) continue;
    leave(line);
    while (!line.empty()) {
      taken.push_back({.place = line.place, .entry = line.pop(ReadyChoice::first)});
      --size_;
      --tenants_[line.tenant].size;
    }
  }
  return taken;
}

std::vector<ReadySet::Pick> ReadySet::take_if(const Taking& taking) {
  std::set<std::uint32_t> lanes;
  if (taking.places != nullptr) {
    for (const PlaceId place : *taking.places) lanes.insert(lines_[place.value].lane);
  }
  std::vector<Pick> taken;
  for (ReadyLine& line : lines_) {
    if (line.empty() || (taking.places != nullptr && !lanes.contains(line.lane))) continue;
    const std::size_t most = line.count_if(taking.may_go);
    if (most == 0) continue;
    // A line without jobs cannot be compared: it leaves before its last one does. Else it keeps its turn.
    if (most == line.size()) leave(line);
    for (const ReadyEntry& entry : line.take_if(taking.goes)) {
      taken.push_back({.place = line.place, .entry = entry});
      --size_;
      --tenants_[line.tenant].size;
    }
    if (line.standing) {
      open_.update(line);
    } else if (line.waits_for) {
      limits_.update(line);
    } else {
      settle(line);
    }
  }
  return taken;
}

std::vector<ReadySet::Pick> ReadySet::standing(std::string_view tenant, bool only_notifying) const {
  std::vector<Pick> all;
  for (const ReadyLine& line : lines_) {
    const ReadyPlace& at = place(line.place);
    if ((!tenant.empty() && at.tenant != tenant) || (only_notifying && !at.notifies)) continue;
    for (const ReadyEntry& entry : line.entries()) all.push_back({.place = line.place, .entry = entry});
  }
  return all;
}

// ---- Starting ------------------------------------------------------------------------------------------------------

std::optional<ReadySet::Pick> ReadySet::pick(Instant now, For what) {
  if (all_closed_) return std::nullopt;
  const std::uint64_t before = work_;
  auto picked = next_pick(now, what);
  steps_ += work_ - before;
  return picked;
}

std::optional<ReadySet::Pick> ReadySet::next_pick(Instant now, For what) {
  limits_.advance(now);
  for (std::size_t left = std::min(limits_.open_count(), kWakesPerPick); left > 0; --left) {
    if (ReadyLine* const woken = limits_.wake(now)) stand(*woken);
  }
  // It ends: in one instant a line is woken only by an open limit and parked only at a shut one.
  for (;;) {
    const auto turn = open_.next();
    if (!turn) {
      ReadyLine* const woken = limits_.wake(now);
      if (woken == nullptr) return std::nullopt;
      stand(*woken);
      continue;
    }
    const auto blocking = limits_.blocking(*turn->line, now);
    if (!blocking) {
      if (!may_be_for(*turn->line, what)) return std::nullopt;
      return start(*turn, now);
    }
    leave(*turn->line);
    limits_.park(*turn->line, *blocking, tenants_[turn->line->tenant].weight, now);
  }
}

bool ReadySet::may_be_for(const ReadyLine& line, For what) const {
  if (what == For::a_free_slot) return true;
  if (what == For::later_here && line.outside) return false;
  if (what == For::later_outside && !line.outside) return false;
  return !place(line.place).last_attempt && !limits_.is_rated(line);
}

ReadySet::Pick ReadySet::start(const ReadyTurns::Turn& turn, Instant now) {
  ReadyLine& line = *turn.line;
  open_.used(line);
  work_ += static_cast<std::uint64_t>(std::bit_width(line.size()));
  return take_out(line, turn.choice, now);
}

// It may stand among the open lines, wait for a limit, or stand nowhere because nobody here serves it.
ReadySet::Pick ReadySet::take_out(ReadyLine& line, ReadyChoice choice, Instant now) {
  // A line without jobs cannot be compared: it leaves before its last one does.
  if (line.size() == 1) leave(line);
  const Pick pick{.place = line.place, .entry = line.pop(choice)};
  if (line.standing) {
    open_.update(line);
  } else if (line.waits_for) {
    limits_.update(line);
  }
  --size_;
  --tenants_[line.tenant].size;
  limits_.take(line, now);
  count(line, Count::up);
  return pick;
}

// ---- What follows --------------------------------------------------------------------------------------------------

void ReadySet::count(ReadyLine& line, Count direction) {
  Tenant& tenant = tenants_[line.tenant];
  Lane& lane = lanes_[line.lane];
  for (std::uint32_t* const running : {&running_, &tenant.running, &lane.running, &line.running}) {
    CHECK(direction == Count::up || *running > 0);
    *running = direction == Count::up ? *running + 1 : *running - 1;
  }
  if (direction == Count::up && mutant(Mutant::cap_read_before_claim)) return;
  refresh_lane(line.lane);
  refresh_tenant(line.tenant);
}

void ReadySet::ended(PlaceId place, Instant now) {
  ReadyLine& line = lines_[place.value];
  limits_.end(line, now);
  if (!line.limits.empty()) ++openings_;
  count(line, Count::down);
}

void ReadySet::gave_back(PlaceId place, Instant now) {
  ReadyLine& line = lines_[place.value];
  if (!mutant(Mutant::tokens_leak_on_release)) limits_.give_back(line, now);
  if (!line.limits.empty()) ++openings_;
  open_.unused(line.tenant, line.lane);
  count(line, Count::down);
}

void ReadySet::claimed_at(std::span<const Pick> picks, Instant now) {
  // All of them return before one is taken: what a full bucket cannot hold is lost, as if they had waited.
  for (const Pick& pick : picks) limits_.give_back(lines_[pick.place.value], now);
  for (const Pick& pick : picks) limits_.take(lines_[pick.place.value], now);
}

void ReadySet::drop(const Pick& pick, Instant now) {
  gave_back(pick.place, now);
  open_.owe(lines_[pick.place.value].tenant);
}

void ReadySet::put_back(const Pick& pick, Instant now) {
  gave_back(pick.place, now);
  put(lines_[pick.place.value], pick.entry);
}

void ReadySet::adopt(PlaceId place, Instant now) {
  ReadyLine& line = lines_[place.value];
  limits_.adopt(line, now);
  count(line, Count::up);
}

std::optional<std::uint32_t> ReadySet::rate_limited(PlaceId place, std::string_view limit, Instant until, Instant now,
                                                    bool may_teach_global) {
  for (const std::uint32_t number : lines_[place.value].limits) {
    if (limits_.name(number) == kOutsideShare || (!limit.empty() && limits_.name(number) != limit)) continue;
    return limits_.rate_limited(number, {.until = until, .may_teach_global = may_teach_global}, now);
  }
  return std::nullopt;
}

std::optional<Instant> ReadySet::next_opening(Instant now) {
  if (all_closed_) return std::nullopt;
  const auto opening = limits_.next_opening();
  return opening ? std::optional(std::max(now, *opening)) : std::nullopt;
}

}  // namespace carillon
