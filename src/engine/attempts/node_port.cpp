#include "engine/attempts/node_port.h"

#include <mutex>
#include <string>
#include <utility>

#include "base/mutant.h"
#include "engine/commands/commands.h"
#include "engine/commands/workers.h"

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

template <typename Command>
Result<typename Command::Answer> Node::NodePort::ask(Command command) {
  const std::shared_lock lock(mutex_);
  if (!node_) return failed(ErrorCode::unavailable, "the engine has ended");
  return Commands(*node_).ask(std::move(command));
}

Result<EffectClaim> Node::NodePort::claim_effect(const Run& run, std::string_view key) {
  return ask(command::ClaimEffect{
      .tenant = run.job.tenant, .key = std::string(key), .job = run.job.id, .token = run.job.token});
}

Result<void> Node::NodePort::effect_done(const Run& run, std::string_view key) {
  return ask(command::FinishEffect{
      .tenant = run.job.tenant, .key = std::string(key), .job = run.job.id, .token = run.job.token});
}

Result<void> Node::NodePort::effect_undone(const Run& run, std::string_view key) {
  return ask(command::UndoEffect{
      .tenant = run.job.tenant, .key = std::string(key), .job = run.job.id, .token = run.job.token});
}

}  // namespace carillon
