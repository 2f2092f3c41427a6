// Whose turn it is: tenants in a weighted ring, their lanes in a ring inside of it, the lines of a lane by their jobs.
//
// The tenant in front gets `weight` turns and then goes to the back; each turn goes to the next of its lanes.
// (invariant 29) In a lane the first job goes first; every 16th turn is its oldest job's. A lane or tenant that is
// held, or has no lines, is in no ring: whatever is blocked costs nothing here.
//
// Used twice: for the lines that may start, and for those that wait for one limit.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "engine/ready/ready_line.h"
#include "engine/ready/ready_line_set.h"
#include "engine/ready/ready_ring.h"

namespace carillon {

inline constexpr std::uint32_t kOldestEvery = 16;

class ReadyTurns {
 public:
  // Every step is counted there.
  explicit ReadyTurns(std::uint64_t* steps) : steps_(steps) {}
  ReadyTurns(const ReadyTurns&) = delete;
  ReadyTurns& operator=(const ReadyTurns&) = delete;
  ~ReadyTurns() = default;

  // How many lines stand here, held ones included.
  std::size_t size() const { return size_; }

  // The line has jobs. Each line stands here once or not at all.
  void insert(ReadyLine& line);
  void erase(ReadyLine& line);
  // Its jobs have changed; it still has some.
  void update(ReadyLine& line);

  void set_weight(std::uint32_t tenant, std::uint32_t weight);
  void hold_tenant(std::uint32_t tenant, bool held);
  void hold_lane(std::uint32_t tenant, std::uint32_t lane, bool held);

  struct Turn {
    ReadyLine* line = nullptr;
    ReadyChoice choice = ReadyChoice::first;
  };
  // Nothing if all is held or empty. Asking does not use up the turn.
  std::optional<Turn> next();
  // The line that next() gave has had its turn. It still stands here.
  void used(const ReadyLine& line);
  // A start from that lane came to nothing: it does not count among the sixteen.
  void unused(std::uint32_t tenant, std::uint32_t lane);
  // It was not even a job any more: its tenant is owed the turn.
  void owe(std::uint32_t tenant);

 private:
  struct Lane {
    explicit Lane(std::uint64_t* steps) : lines(steps) {}
    RingLinks<Lane> links;
    ReadyLineSet lines;
    std::uint32_t turns = 0;
    bool held = false;
  };
  struct Tenant {
    RingLinks<Tenant> links;
    ReadyRing<Lane> ring;
    std::unordered_map<std::uint32_t, Lane> lanes;
    std::uint32_t weight = 1;
    std::uint32_t left = 0;  // of this turn
    std::uint32_t owed = 0;  // turns that came to nothing
    bool held = false;
  };

  Lane& lane(Tenant& tenant, std::uint32_t id) { return tenant.lanes.try_emplace(id, steps_).first->second; }
  void settle(Tenant& tenant, Lane& lane);
  void settle(Tenant& tenant);

  std::uint64_t* steps_;
  std::unordered_map<std::uint32_t, Tenant> tenants_;
  ReadyRing<Tenant> ring_;
  std::size_t size_ = 0;
};

}  // namespace carillon
