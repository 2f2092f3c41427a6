// The port of a node: blocking calls into its rounds.
#pragma once

#include <shared_mutex>

#include "engine/round/node.h"

namespace carillon {

class Node::NodePort final : public Port {
 public:
  NodePort(Node& node, const StoreClock& clock) : node_(&node), clock_(clock) {}
  NodePort(const NodePort&) = delete;
  NodePort& operator=(const NodePort&) = delete;
  ~NodePort() override = default;

  // Who asks from now on is told that the lease is over. Waits for those that are asking.
  void close();

  BootTime boot() const override;
  Instant now() const override;
  std::optional<Closing> gate(const Run& run) const override;
  JobDefaults job_defaults() const override;
  Result<EffectClaim> claim_effect(const Run& run, std::string_view key) override;
  Result<void> effect_done(const Run& run, std::string_view key) override;
  Result<void> effect_undone(const Run& run, std::string_view key) override;

 private:
  template <typename Command>
  Result<typename Command::Answer> ask(Command command);

  mutable std::shared_mutex mutex_;
  Node* node_;
  const StoreClock& clock_;
};

}  // namespace carillon
