#include "engine/attempts/node_port.h"

#include "base/mutant.h"

#include <mutex>

namespace carillon {

void Node::NodePort::close() {
  const std::unique_lock lock(mutex_);
  node_ = nullptr;
}

BootTime Node::NodePort::boot() const {
  const std::shared_lock lock(mutex_);
  return node_ ? clock_.boot() : BootTime::max();
}

Instant Node::NodePort::now() const {
  const std::shared_lock lock(mutex_);
  return node_ ? node_->store_.jobs().now() : Instant{};
}

std::optional<Closing> Node::NodePort::gate(const Run& run) const {
  const std::shared_lock lock(mutex_);
  if (!node_ || mutant(Mutant::gate_only_before_claim)) return std::nullopt;
  return node_->rules_.closed_for(run.job.tenant, run.notifies, node_->store_.jobs().now());
}

JobDefaults Node::NodePort::job_defaults() const {
  const std::shared_lock lock(mutex_);
  return node_ ? node_->rules_.job_defaults() : JobDefaults();
}

template <typename Answer, typename Operation>
Result<Answer> Node::NodePort::ask(Operation operation) {
  const std::shared_lock lock(mutex_);
  if (!node_) return failed(ErrorCode::unavailable, "the engine has ended");
  return node_->call<Answer>([&](Round&) { return operation(node_->store_.jobs()); });
}

Result<EffectClaim> Node::NodePort::claim_effect(const Run& run, std::string_view key) {
  return ask<EffectClaim>(
      [&](JobStore& jobs) { return jobs.claim_effect(run.job.tenant, key, run.job.id, run.job.token); });
}

Result<void> Node::NodePort::effect_done(const Run& run, std::string_view key) {
  return ask<void>(
      [&](JobStore& jobs) { return jobs.effect_done(run.job.tenant, key, run.job.id, run.job.token, ""); });
}

Result<void> Node::NodePort::effect_undone(const Run& run, std::string_view key) {
  return ask<void>([&](JobStore& jobs) { return jobs.effect_undone(run.job.tenant, key, run.job.id, run.job.token); });
}

}  // namespace carillon
