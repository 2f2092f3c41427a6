#include "engine/commands/workers.h"

#include "engine/round/node.h"

namespace carillon::command {

namespace {

Result<void> check_request(const PullRequest& request) {
  if (request.worker.empty()) return invalid_request("a worker that leases jobs must have a name");
  if (request.lease && *request.lease <= Duration::zero()) {
    return invalid_request("a lease must be longer than nothing");
  }
  return {};
}

}  // namespace

Result<void> carry_out(const LeaseJobs& command, Node& node, Round& round) {
  TRY(check_request(command.call->request));
  return command.call->is_waiting() ? node.add_pull(round, command.call) : Result<void>();
}

Result<std::vector<Result<BeatAnswer>>> carry_out(const ExtendLeases& command, Node& node, Round& round) {
  return node.extend_pulled(round, command.beats);
}

Result<std::vector<Result<WordAnswer>>> carry_out(const Report& command, Node& node, Round& round) {
  return node.settle_pulled(round, command.words);
}

Result<EffectClaim> carry_out(const ClaimEffect& command, Node& node, Round& /*round*/) {
  return node.store().jobs().claim_effect(command.tenant, command.key, command.job, command.token);
}

Result<void> carry_out(const FinishEffect& command, Node& node, Round& /*round*/) {
  return node.store().jobs().effect_done(command.tenant, command.key, command.job, command.token, command.result);
}

Result<void> carry_out(const UndoEffect& command, Node& node, Round& /*round*/) {
  return node.store().jobs().effect_undone(command.tenant, command.key, command.job, command.token);
}

}  // namespace carillon::command
