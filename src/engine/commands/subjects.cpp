#include "engine/commands/subjects.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/calls/trail.h"
#include "engine/round/node.h"

namespace carillon::command {

bool disables(const std::vector<ImportLine>& lines) {
  return std::ranges::any_of(lines, [](const ImportLine& line) { return !line.text.overrides.enabled; });
}

Result<Planner::SubjectChanged> carry_out(const PutSubject& command, Node& node, Round& round) {
  TRY_ASSIGN(Planner::SubjectChanged made, node.planner().put_subject(round, {.tenant = command.tenant,
                                                                              .schedule = command.schedule,
                                                                              .subject = command.subject,
                                                                              .body = command.body,
                                                                              .if_version = command.if_version,
                                                                              .patches = command.patches,
                                                                              .actor = command.by.name}));
  const std::string target = command.schedule + "/" + command.subject;
  std::optional<AuditDetail> trail;
  // Planning may have moved it meanwhile: that is nobody's edit.
  if (!command.by.is_nobody() && made.put.fate != SubjectFate::unchanged) {
    trail = trail_of(made.before ? &*made.before : nullptr, &made.put.row);
  }
  if (made.triggered) {
    TRY(note(node, command.by, {command.tenant, "schedule.trigger", target},
             trail_of(Client::TriggerOptions{}, *made.triggered)));
  }
  TRY(note(node, command.by, {command.tenant, command.patches ? "subject.patch" : "subject.put", target}, trail));
  return made;
}

Result<void> carry_out(const DeleteSubject& command, Node& node, Round& round) {
  TRY_ASSIGN(const ScheduleRow row, node.store().plans().schedule(command.tenant, command.schedule));
  const auto before = node.store().plans().subject(row.id, command.subject);
  TRY(node.planner().delete_subject(round, command.tenant, command.schedule, command.subject));
  CHECK(before);
  return note(node, command.by, {command.tenant, "subject.delete", command.schedule + "/" + command.subject},
              trail_of(&*before, nullptr));
}

Result<void> carry_out(const TakeBackSubject& command, Node& node, Round& round) {
  node.take_back_of(round, command.tenant, command.schedule, command.subject);
  return {};
}

Result<ImportedSubjects> carry_out(const ImportSubjects& command, Node& node, Round& round) {
  const auto& [tenant, schedule] = command.name;
  TRY(node.planner().check_import(round, tenant, schedule, command.lines));
  if (disables(command.lines)) node.take_back_of(round, tenant, schedule);
  TRY_ASSIGN(const ImportedSubjects imported, node.planner().write_import(round, tenant, schedule, command.lines));
  TRY(note(node, command.by, {tenant, "subject.import", schedule}, trail_of(imported)));
  return imported;
}

Result<void> carry_out(const BeginImport& command, Node& node, Round& round) {
  return node.imports().begin(round, command.name);
}

Result<void> carry_out(const AddImportPart& command, Node& node, Round& round) {
  return node.imports().add_part(round, command.name, command.lines);
}

Result<void> carry_out(const AcceptImport& command, Node& node, Round& round) {
  TRY(node.imports().accept(round, command.name));
  return note(node, command.by, {command.name.tenant, "subject.import", command.name.schedule},
              trail_of_import(command.lines));
}

Result<ImportWork::Stepped> carry_out(const StepImport& command, Node& node, Round& round) {
  if (command.disables) node.take_back_of(round, command.name.tenant, command.name.schedule);
  return node.imports().step(round, command.name);
}

Result<void> carry_out(const GiveUpImport& command, Node& node, Round& round) {
  node.imports().give_up(round, command.name);
  return {};
}

}  // namespace carillon::command
