#include "store/cases/plan.h"

#include <fmt/format.h>

#include "base/json.h"
#include "store/cases/act.h"
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

std::unexpected<Error> no_such_subject(std::string_view subject) {
  return failed(ErrorCode::not_found, fmt::format("there is no subject {}", quoted(subject)));
}

// Those that are not started: a worker has the others, or an operator decides. The newest first, so that none is
// released, or cancelled for want of another, before its turn.
std::vector<Changed> cancel_unstarted(Context& context, ScheduleId schedule) {
  std::vector<Changed> cancelled;
  for (const JobId id : context.tx.jobs_without_outcome(schedule)) {
    const auto row = context.tx.job(id);
    if (!row || row->state == JobState::dlq || context.tx.lease(id)) continue;
    cancelled.push_back(cancel_job(context, *row, row->state, "schedule_deleted"));
  }
  for (Changed& changed : cancelled) drop_not_ready(context, changed.ready);
  return cancelled;
}

}  // namespace

bool holds_its_jobs(const ScheduleRow& schedule, Instant now) {
  return !schedule.enabled || (schedule.paused_until && *schedule.paused_until > now);
}

bool lives(const SubjectRow& subject, const ScheduleRow& owner) {
  return !owner.deleted_at && !subject.deleted_at && subject.generation == owner.generation;
}

Result<ScheduleRow> find_schedule(Context& context, ScheduleId id) {
  auto row = context.tx.schedule(id);
  if (!row || row->deleted_at) return no_such_schedule(row ? row->name : std::to_string(id.value));
  return *std::move(row);
}

Result<ScheduleRow> find_schedule(Context& context, std::string_view tenant, std::string_view name) {
  auto row = kept_schedule(context, tenant, name);
  if (!row) return no_such_schedule(name);
  return *std::move(row);
}

Result<SubjectRow> find_subject(Context& context, ScheduleId schedule, std::string_view subject) {
  const auto owner = context.tx.schedule(schedule);
  auto row = context.tx.subject(schedule, subject);
  if (!owner || !row || !lives(*row, *owner)) return no_such_subject(subject);
  return *std::move(row);
}

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

Result<DeletedSchedule> delete_schedule_row(Context& context, std::string_view tenant, std::string_view name) {
  auto row = kept_schedule(context, tenant, name);
  if (!row) return no_such_schedule(name);
  row->deleted_at = context.now;
  row->updated_at = context.now;
  row->enabled = false;
  ++row->revision;
  context.tx.update_schedule(*row);
  return DeletedSchedule{.cancelled = cancel_unstarted(context, row->id)};
}

Result<SubjectRow> put_subject_row(Context& context, ScheduleId schedule, const SubjectEdit& edit) {
  TRY_ASSIGN(const ScheduleRow owner, find_schedule(context, schedule));
  if (edit.subject.size() > kKeyBytesMax) {
    return invalid_request(
        fmt::format("the subject has {} bytes; at most {} are allowed", edit.subject.size(), kKeyBytesMax));
  }
  const auto known = context.tx.subject(schedule, edit.subject);
  const bool exists = known && lives(*known, owner);
  TRY(check_revision(edit.subject, edit.if_version, exists ? known->version : 0));
  SubjectRow row{.schedule = schedule, .subject = edit.subject};
  if (exists) row = *known;
  if (known) {
    // Of one that is gone this is what stays behind.
    row.version = known->version + 1;
    row.position = known->position;
    row.cursor = known->cursor;
  }
  row.generation = owner.generation;
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
  TRY_ASSIGN(SubjectRow row, find_subject(context, schedule, subject));
  retire_subject(context, row);
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

}  // namespace carillon
