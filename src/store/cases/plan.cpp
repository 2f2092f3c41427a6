#include "store/cases/plan.h"

#include <fmt/format.h>

#include "base/json.h"
#include "store/cases/enqueue.h"
#include "store/cases/finish.h"

namespace carillon {

namespace {

// How often a question for due subjects goes on past those of an earlier life of their schedule.
constexpr int kRetiringRoundsMax = 10;

std::unexpected<Error> no_such_schedule(std::string_view name) {
  return failed(ErrorCode::not_found, fmt::format("there is no schedule {}", quoted(name)));
}

std::optional<ScheduleRow> kept_schedule(Context& context, std::string_view tenant, std::string_view name) {
  auto row = context.tx.schedule(tenant, name);
  if (row && row->deleted_at) row.reset();
  return row;
}

Result<void> check_revision(std::string_view name, std::optional<std::int64_t> wanted, std::int64_t stored) {
  if (!wanted || *wanted == stored) return {};
  return failed(ErrorCode::conflict,
                fmt::format("{} has revision {}, not {}: it was changed meanwhile", quoted(name), stored, *wanted));
}

bool lives(const SubjectRow& subject, const ScheduleRow& owner) {
  return !owner.deleted_at && !subject.deleted_at && subject.generation == owner.generation;
}

void raise(std::optional<Instant>& position, std::optional<Instant> to) {
  if (to && (!position || *to > *position)) position = to;
}

}  // namespace

void retire_subject(Context& context, SubjectRow& subject) {
  subject.deleted_at = context.now;
  subject.next_at.reset();
  subject.overrides.clear();
  subject.state.clear();
  ++subject.version;
  context.tx.put_subject(subject);
}

Result<ScheduleRow> put_schedule_row(Context& context, const NewSchedule& schedule) {
  TRY(check_name("tenant", schedule.tenant));
  TRY(check_name("schedule", schedule.name));
  if (auto definition = parse_json(schedule.definition); !definition) {
    return std::unexpected(with_context("definition", std::move(definition).error()));
  }
  const auto known = context.tx.schedule(schedule.tenant, schedule.name);
  const bool exists = known && !known->deleted_at;
  TRY(check_revision(schedule.name, schedule.if_revision, exists ? known->revision : 0));
  if (!known) {
    ScheduleRow row{.tenant = schedule.tenant,
                    .name = schedule.name,
                    .definition = schedule.definition,
                    .enabled = schedule.enabled,
                    .created_at = context.now,
                    .updated_at = context.now};
    row.id = context.tx.insert_schedule(row);
    return row;
  }
  // A deleted one of this name goes on with its id: its subjects' positions guard what was planned. (invariant 1)
  ScheduleRow row = *known;
  if (exists && row.definition == schedule.definition && row.enabled == schedule.enabled) return row;
  row.definition = schedule.definition;
  row.enabled = schedule.enabled;
  row.updated_at = context.now;
  ++row.revision;
  if (!exists) {
    ++row.generation;
    row.created_at = context.now;
    row.deleted_at.reset();
    row.paused_until.reset();
  }
  context.tx.update_schedule(row);
  return row;
}

Result<ScheduleRow> pause_schedule(Context& context, std::string_view tenant, std::string_view name,
                                   std::optional<Instant> until) {
  auto row = kept_schedule(context, tenant, name);
  if (!row) return no_such_schedule(name);
  if (row->paused_until == until) return *row;
  row->paused_until = until;
  row->updated_at = context.now;
  ++row->revision;
  context.tx.update_schedule(*row);
  return *row;
}

Result<void> delete_schedule_row(Context& context, std::string_view tenant, std::string_view name) {
  auto row = kept_schedule(context, tenant, name);
  if (!row) return no_such_schedule(name);
  row->deleted_at = context.now;
  row->updated_at = context.now;
  row->enabled = false;
  ++row->revision;
  context.tx.update_schedule(*row);
  return {};
}

Result<SubjectRow> put_subject_row(Context& context, ScheduleId schedule, const SubjectEdit& edit) {
  const auto owner = context.tx.schedule(schedule);
  if (!owner || owner->deleted_at) return no_such_schedule(owner ? owner->name : std::to_string(schedule.value));
  if (edit.subject.size() > kKeyBytesMax) {
    return invalid_request(
        fmt::format("the subject has {} bytes; at most {} are allowed", edit.subject.size(), kKeyBytesMax));
  }
  const auto known = context.tx.subject(schedule, edit.subject);
  const bool exists = known && lives(*known, *owner);
  TRY(check_revision(edit.subject, edit.if_version, exists ? known->version : 0));
  SubjectRow row{.schedule = schedule, .subject = edit.subject};
  if (exists) row = *known;
  if (known) {
    // Of one that is gone this is what stays behind.
    row.version = known->version + 1;
    row.position = known->position;
    row.cursor = known->cursor;
  }
  row.generation = owner->generation;
  if (edit.cursor) {
    if (row.cursor && *edit.cursor < *row.cursor) {
      return failed(ErrorCode::conflict,
                    fmt::format("the cursor of {} stands at {} and never falls, so not to {}", quoted(edit.subject),
                                format_instant(*row.cursor), format_instant(*edit.cursor)));
    }
    row.cursor = edit.cursor;
    move_cursor(context, row);
  }
  if (edit.overrides) row.overrides = *edit.overrides;
  if (edit.next_at) row.next_at = *edit.next_at;
  context.tx.put_subject(row);
  return row;
}

Result<void> delete_subject_row(Context& context, ScheduleId schedule, std::string_view subject) {
  const auto owner = context.tx.schedule(schedule);
  auto row = context.tx.subject(schedule, subject);
  if (!owner || !row || !lives(*row, *owner)) {
    return failed(ErrorCode::not_found, fmt::format("there is no subject {}", quoted(subject)));
  }
  retire_subject(context, *row);
  return {};
}

std::vector<SubjectRow> due_subjects(Context& context, ScheduleId schedule, Instant until, std::size_t limit) {
  const auto owner = context.tx.schedule(schedule);
  if (!owner || owner->deleted_at) return {};
  std::vector<SubjectRow> due;
  // Those of an earlier life of the schedule are met here for the last time.
  for (int round = 0; round < kRetiringRoundsMax && due.empty() && !context.tx.failed(); ++round) {
    std::vector<SubjectRow> found = context.tx.subjects_due(schedule, until, limit);
    if (found.empty()) break;
    for (SubjectRow& row : found) {
      if (lives(row, *owner)) {
        due.push_back(std::move(row));
      } else {
        retire_subject(context, row);
      }
    }
  }
  return due;
}

Result<Advanced> advance_subject(Context& context, const Advance& advance) {
  const auto owner = context.tx.schedule(advance.schedule);
  auto row = context.tx.subject(advance.schedule, advance.subject);
  if (!owner || !row || !lives(*row, *owner) || row->version != advance.version) {
    return failed(ErrorCode::conflict, fmt::format("subject {} was changed meanwhile", quoted(advance.subject)));
  }
  Advanced answer;
  JobId open_job = row->open_job;
  for (const NewJob& job : advance.jobs) {
    TRY_ASSIGN(const Enqueued made, enqueue_job(context, job));
    if (!made.deduplicated && !is_final(made.state)) open_job = made.id;
    answer.jobs.push_back(made);
  }
  for (const ClosedSlot& closed : advance.closed) {
    if (context.tx.outcome(advance.schedule, advance.subject, closed.first)) continue;
    context.tx.put_outcome({.schedule = advance.schedule,
                            .subject = advance.subject,
                            .slot = closed.first,
                            .until = closed.until,
                            .count = closed.count,
                            .outcome = closed.outcome,
                            .reason = closed.reason,
                            .at = context.now});
    context.tx.add_outcome_count(advance.schedule, closed.first, closed.outcome, closed.count);
  }
  // A job that ended at once has changed the row.
  row = context.tx.subject(advance.schedule, advance.subject);
  if (!row) return failed(ErrorCode::conflict, fmt::format("subject {} is gone", quoted(advance.subject)));
  row->open_job = open_job;
  row->next_at = advance.next_at;
  raise(row->position, advance.position);
  move_cursor(context, *row);
  if (advance.state) row->state = *advance.state;
  ++row->version;
  context.tx.put_subject(*row);
  answer.version = row->version;
  return answer;
}

}  // namespace carillon
