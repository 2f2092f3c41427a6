// One machine: its clock, its disk, and the node that runs on it until the node or the machine dies.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/calls/node_client.h"
#include "engine/host/manual_clock.h"
#include "engine/round/node.h"
#include "faults/fault_vfs.h"
#include "sim/sim_runner.h"
#include "sim/witness.h"
#include "store/backend.h"

namespace carillon::sim {

enum class StoreKind : std::uint8_t { memory, sqlite };

class Site {
 public:
  using Clock = testing::ManualClock::Parts;

  Site(StoreKind kind, std::uint64_t seed, Clock& clock, Witness& witness);
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;
  ~Site();

  // A node begins, with what is stored.
  void start(const Node::Options& options, const SimRunner::Parts& parts);
  bool is_up() const { return node_ != nullptr; }
  // Memory is gone, the disk is not.
  void crash();
  // The same, and what was not synced is gone too.
  void lose_power();
  // The power fails during the next commit. Of a disk only.
  void lose_power_soon(std::uint64_t calls);
  bool has_power() const;

  Node& node() { return *node_; }
  Client& client() { return *client_; }
  SimRunner& runner() { return *runner_; }
  // For looking at rows from outside: while no call is under way.
  Backend& backend() { return *inner_; }
  // The store alone, without a node.
  void open_store();
  void close_store();

 private:
  void cut_leases();

  const StoreKind kind_;
  Clock& clock_;
  Witness& witness_;
  std::unique_ptr<FaultVfs> vfs_;
  std::unique_ptr<Backend> memory_;
  Backend* inner_ = nullptr;
  std::unique_ptr<Store> store_;
  std::unique_ptr<SimRunner> runner_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<NodeClient> client_;
};

}  // namespace carillon::sim
