#include "engine/ready/ready_turns.h"

#include <algorithm>

#include "base/check.h"

namespace carillon {

// Puts a lane into its tenant's ring or takes it out, as it now should be; then the tenant.
void ReadyTurns::settle(Tenant& tenant, Lane& lane) {
  const bool should = !lane.held && !lane.lines.empty();
  if (should != ReadyRing<Lane>::contains(lane)) {
    ++*steps_;
    if (should) {
      tenant.ring.push_back(lane);
    } else {
      tenant.ring.erase(lane);
    }
  }
  settle(tenant);
}

void ReadyTurns::settle(Tenant& tenant) {
  const bool should = !tenant.held && !tenant.ring.empty();
  if (should == ReadyRing<Tenant>::contains(tenant)) return;
  ++*steps_;
  if (should) {
    tenant.left = tenant.weight;
    ring_.push_back(tenant);
  } else {
    ring_.erase(tenant);
    tenant.owed = 0;
  }
}

void ReadyTurns::insert(ReadyLine& line) {
  Tenant& owner = tenants_[line.tenant];
  Lane& at = lane(owner, line.lane);
  at.lines.insert(line);
  ++size_;
  settle(owner, at);
}

void ReadyTurns::erase(ReadyLine& line) {
  Tenant& owner = tenants_[line.tenant];
  Lane& at = lane(owner, line.lane);
  at.lines.erase(line);
  --size_;
  settle(owner, at);
}

void ReadyTurns::update(ReadyLine& line) { lane(tenants_[line.tenant], line.lane).lines.update(line); }

void ReadyTurns::set_weight(std::uint32_t tenant, std::uint32_t weight) {
  Tenant& owner = tenants_[tenant];
  owner.weight = std::max(weight, 1U);
  owner.left = std::min(owner.left, owner.weight);
}

void ReadyTurns::hold_tenant(std::uint32_t tenant, bool held) {
  Tenant& owner = tenants_[tenant];
  owner.held = held;
  settle(owner);
}

void ReadyTurns::hold_lane(std::uint32_t tenant, std::uint32_t lane, bool held) {
  Tenant& owner = tenants_[tenant];
  Lane& at = this->lane(owner, lane);
  at.held = held;
  settle(owner, at);
}

std::optional<ReadyTurns::Turn> ReadyTurns::next() {
  ++*steps_;
  if (ring_.empty()) return std::nullopt;
  const Lane& lane = ring_.front().ring.front();
  const bool for_oldest = lane.turns % kOldestEvery == kOldestEvery - 1;
  const ReadyChoice choice = for_oldest ? ReadyChoice::oldest : ReadyChoice::first;
  return Turn{.line = &lane.lines.best(choice), .choice = choice};
}

void ReadyTurns::used(const ReadyLine& line) {
  Tenant& owner = ring_.front();
  Lane& at = lane(owner, line.lane);
  CHECK(&at == &owner.ring.front());
  ++at.turns;
  owner.ring.rotate();
  if (owner.owed > 0) {
    if (--owner.owed == 0) ring_.rotate();
    return;
  }
  if (--owner.left > 0) return;
  owner.left = owner.weight;
  ring_.rotate();
}

void ReadyTurns::unused(std::uint32_t tenant, std::uint32_t lane) {
  std::uint32_t& turns = this->lane(tenants_[tenant], lane).turns;
  if (turns > 0) --turns;
}

void ReadyTurns::owe(std::uint32_t tenant) {
  Tenant& owner = tenants_[tenant];
  if (!ReadyRing<Tenant>::contains(owner)) return;
  ++owner.owed;
  ring_.bring_forward(owner);
}

}  // namespace carillon
