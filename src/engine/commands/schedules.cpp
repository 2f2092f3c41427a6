#include "engine/commands/schedules.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_writer.h"
#include "engine/calls/trail.h"
#include "engine/round/node.h"

namespace carillon::command {

Result<ScheduleRow> carry_out(const PutSchedule& command, Node& node, Round& round) {
  TRY_ASSIGN(Planner::PutSchedule put, node.planner().put(round, {.tenant = command.tenant,
                                                                  .definition = command.definition,
                                                                  .if_revision = command.if_revision}));
  TRY(note(node, command.by, {command.tenant, "schedule.put", put.row.name},
           changed_fields(put.definition_before, put.row.definition)));
  // What was claimed ahead does not start (invariant 32).
  if (!put.row.enabled) node.take_back_of(round, command.tenant, put.row.name);
  return std::move(put.row);
}

Result<ScheduleRow> carry_out(const PauseSchedule& command, Node& node, Round& round) {
  TRY_ASSIGN(const ScheduleRow before, node.store().plans().schedule(command.tenant, command.name));
  node.take_back_of(round, command.tenant, command.name);
  TRY_ASSIGN(ScheduleRow paused, node.planner().pause(round, command.tenant, command.name, command.until));
  TRY(note(node, command.by, {command.tenant, "schedule.pause", command.name}, trail_of_pause(before, paused)));
  return paused;
}

Result<ScheduleRow> carry_out(const ResumeSchedule& command, Node& node, Round& round) {
  TRY_ASSIGN(const ScheduleRow before, node.store().plans().schedule(command.tenant, command.name));
  TRY_ASSIGN(ScheduleRow resumed, node.planner().resume(round, command.tenant, command.name));
  TRY(note(node, command.by, {command.tenant, "schedule.resume", command.name}, trail_of_pause(before, resumed)));
  return resumed;
}

Result<void> carry_out(const DeleteSchedule& command, Node& node, Round& round) {
  TRY_ASSIGN(const ScheduleRow before, node.store().plans().schedule(command.tenant, command.name));
  TRY(node.planner().remove(round, command.tenant, command.name));
  return note(node, command.by, {command.tenant, "schedule.delete", command.name},
              changed_fields(before.definition, std::nullopt));
}

Result<EnqueuedJob> carry_out(const TriggerSchedule& command, Node& node, Round& round) {
  const Client::TriggerOptions& options = command.options;
  TRY(node.rules().check_enabled());
  TRY_ASSIGN(const EnqueuedJob made,
             node.planner().trigger(
                 round, command.tenant, command.name, options,
                 {.key = {}, .said = {}, .created_by = command.by.name, .meta = {}, .payload = {}, .expected_at = {}}));
  TRY(note(node, command.by,
           {command.tenant, "schedule.trigger",
            options.subject.empty() ? command.name : command.name + "/" + options.subject},
           trail_of(options, made)));
  return made;
}

Result<EnqueuedJob> carry_out(const PushToSchedule& command, Node& node, Round& round) {
  TRY_ASSIGN(const bool fans_out, node.planner().fans_out(command.tenant, command.schedule));
  JsonObject meta;
  meta.raw("hook", command.about);
  Client::TriggerOptions options{.payload = {}, .priority = command.priority, .subject = {}};
  std::string pushed;
  if (fans_out) {
    options.subject = command.subject;
    pushed = fmt::format(R"({{"push":{}}})", command.body);
  } else {
    options.payload = command.body;
  }
  return node.planner().trigger(round, command.tenant, command.schedule, options,
                                {.key = command.key,
                                 .said = command.body,
                                 .created_by = command.created_by,
                                 .meta = meta.str(),
                                 .payload = std::move(pushed),
                                 .expected_at = command.expected_at});
}

Result<BulkInfo> carry_out(const Backfill& command, Node& node, Round& round) {
  const Client::BackfillRequest& request = command.request;
  TRY(node.rules().check_enabled());
  TRY_ASSIGN(const std::size_t count, node.planner().windows_in(round, command.tenant, command.name, request));
  std::optional<std::uint64_t> total;
  if (!request.subject.empty()) total = count;
  TRY_ASSIGN(BulkInfo begun, node.bulk().begin(round, BulkWork::BeginBackfill{.tenant = command.tenant,
                                                                              .schedule = command.name,
                                                                              .subject = request.subject,
                                                                              .from = request.from,
                                                                              .to = request.to,
                                                                              .total = total,
                                                                              .created_by = command.by.name}));
  TRY(note(node, command.by, {command.tenant, "schedule.backfill", command.name}, trail_of(request, begun)));
  return begun;
}

}  // namespace carillon::command
