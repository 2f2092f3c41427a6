#include "engine/commands/operations.h"

#include "base/json_writer.h"
#include "engine/round/node.h"

namespace carillon::command {

namespace {

constexpr std::string_view kProbeKind = "probe";

}  // namespace

Result<NodeLevels> carry_out(const ReadLevels& command, Node& node, Round& round) {
  return command.tenants ? node.levels_of(*command.tenants, round.now) : node.levels(round);
}

Result<Probe::Answer> carry_out(const Probe& /*command*/, Node& node, Round& round) {
  JsonObject body;
  body.text("at", format_instant(round.now));
  TRY(node.store().admin().put_document(
      {.key = {.tenant = {}, .kind = std::string(kProbeKind), .name = "ready"}, .body = body.str()}, std::nullopt));
  return Probe::Answer{.levels = node.levels(round), .now = round.now};
}

Result<EngineConfig> carry_out(const ReadConfig& /*command*/, Node& node, Round& /*round*/) { return node.config(); }

Result<ReadHolds::Answer> carry_out(const ReadHolds& command, Node& node, Round& round) {
  return ReadHolds::Answer{.rules = node.rules().held(command.tenant, command.job.notifies, round.now),
                           .place = node.holds(command.job, command.type, round),
                           .now = round.now};
}

}  // namespace carillon::command
