#include "store/cases/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "store/cases/act.h"
#include "store/cases/finish.h"
#include "store/subject_text.h"

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

// How many subjects are read at first: what a page holds beyond those of its schedule was read for nothing.
constexpr std::size_t kSubjectsFirst = 8;

// How many occurrences the call that deletes a schedule looks at.
constexpr std::size_t kDeletedAtOnce = 10'000;

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

Result<std::vector<std::optional<SubjectRow>>> find_subjects(Context& context, ScheduleId schedule,
                                                             std::span<const std::string_view> names) {
  TRY_ASSIGN(const ScheduleRow owner, find_schedule(context, schedule));
  std::vector<std::optional<SubjectRow>> found;
  found.reserve(names.size());
  for (const std::string_view name : names) {
    found.push_back(context.tx.subject(schedule, name));
    if (found.back() && !lives(*found.back(), owner)) found.back().reset();
  }
  return found;
}

void retire_subject(Context& context, SubjectRow& subject) {
  const std::optional<Instant> next_at_before = subject.next_at;
  subject.deleted_at = context.now;
  subject.next_at.reset();
  subject.overrides.clear();
  write_subject_state({}, subject);
  subject.enabled = true;
  ++subject.version;
  context.tx.update_subject(next_at_before, subject);
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
    row.subjects = 0;
    row.first_job = context.ids.next(context.now);
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
  row->subjects = 0;
  context.tx.update_schedule(*row);
  CancelStep first = cancel_unstarted_jobs(context, {row->id, {}, kInstantMin}, kDeletedAtOnce);
  return DeletedSchedule{.id = row->id,
                         .cancelled = std::move(first.cancelled),
                         .next_after = std::move(first.next_after),
                         .end = first.end};
}

CancelStep cancel_unstarted_jobs(Context& context, const OutcomeKey& after, std::size_t limit) {
  CancelStep step{.next_after = after, .end = true};
  const auto owner = context.tx.schedule(after.schedule);
  if (!owner || !owner->deleted_at) return step;
  const std::vector<OutcomeRow> rows = context.tx.outcomes_above(after, limit);
  std::vector<JobId> open;
  for (const OutcomeRow& row : rows) {
    if (row.schedule != after.schedule) break;
    if (row.job && !row.outcome) open.push_back(row.job);
  }
  // The newest first, so that none is released, or cancelled for want of another, before its turn.
  std::ranges::sort(open, std::greater());
  for (const JobId id : open) {
    const auto row = context.tx.job(id);
    // A worker has it, or an operator decides.
    if (!row || row->state == JobState::dlq || context.tx.lease(id)) continue;
    step.cancelled.push_back(cancel_job(context, *row, row->state, "schedule_deleted"));
  }
  for (Changed& changed : step.cancelled) drop_not_ready(context, changed.ready);
  step.end = rows.size() < limit || rows.back().schedule != after.schedule;
  if (!step.end) step.next_after = {rows.back().schedule, rows.back().subject, rows.back().slot};
  return step;
}

namespace {

Result<void> apply_edit(Context& context, const SubjectEdit& edit, SubjectRow& row) {
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
  if (edit.enabled) row.enabled = *edit.enabled;
  if (edit.next_at) row.next_at = *edit.next_at;
  raise_to(row.position, edit.position);
  if (edit.state) change_state(context, row, *edit.state);
  return {};
}

// Nothing if there is one of that name, be it deleted.
Result<std::optional<PutSubject>> make_subject_row(Context& context, const ScheduleRow& owner,
                                                   const SubjectEdit& edit) {
  TRY(check_revision(edit.subject, edit.if_version, 0));
  SubjectRow row{.schedule = owner.id, .subject = edit.subject};
  row.generation = owner.generation;
  TRY(apply_edit(context, edit, row));
  if (!context.tx.insert_subject(row)) return std::nullopt;
  return PutSubject{.row = std::move(row), .fate = SubjectFate::created};
}

Result<PutSubject> put_subject_row(Context& context, const ScheduleRow& owner, const SubjectEdit& edit) {
  if (edit.subject.size() > kKeyBytesMax) {
    return invalid_request(
        fmt::format("the subject has {} bytes; at most {} are allowed", edit.subject.size(), kKeyBytesMax));
  }
  if (edit.is_new && !edit.if_version) {
    TRY_ASSIGN(auto made, make_subject_row(context, owner, edit));
    if (made) return *std::move(made);
  }
  const auto known = context.tx.subject(owner.id, edit.subject);
  if (!known) {
    TRY_ASSIGN(auto made, make_subject_row(context, owner, edit));
    return made ? *std::move(made) : PutSubject{};  // nothing only if the transaction has failed
  }
  const bool exists = lives(*known, owner);
  TRY(check_revision(edit.subject, edit.if_version, exists ? known->version : 0));
  SubjectRow row{.schedule = owner.id, .subject = edit.subject};
  if (exists) row = *known;
  // Of one that is gone this is what stays behind.
  row.version = known->version;
  row.position = known->position;
  row.cursor = known->cursor;
  row.generation = owner.generation;
  TRY(apply_edit(context, edit, row));
  if (exists && row == *known) return PutSubject{.row = std::move(row), .fate = SubjectFate::unchanged};
  ++row.version;
  context.tx.update_subject(known->next_at, row);
  return PutSubject{.row = std::move(row), .fate = exists ? SubjectFate::updated : SubjectFate::created};
}

}  // namespace

Result<std::vector<PutSubject>> put_subject_rows(Context& context, ScheduleId schedule,
                                                 std::span<const SubjectEdit> edits) {
  TRY_ASSIGN(const ScheduleRow owner, find_schedule(context, schedule));
  std::vector<PutSubject> put;
  put.reserve(edits.size());
  std::int64_t created = 0;
  for (const SubjectEdit& edit : edits) {
    TRY_ASSIGN(PutSubject one, put_subject_row(context, owner, edit));
    if (one.fate == SubjectFate::created) ++created;
    put.push_back(std::move(one));
  }
  if (created != 0) context.tx.add_subjects(schedule, created);
  return put;
}

Result<void> delete_subject_row(Context& context, ScheduleId schedule, std::string_view subject) {
  TRY_ASSIGN(SubjectRow row, find_subject(context, schedule, subject));
  retire_subject(context, row);
  context.tx.add_subjects(schedule, -1);
  return {};
}

SubjectSlice subjects_of(Context& context, ScheduleId schedule, std::optional<std::string_view> after,
                         std::size_t limit) {
  SubjectSlice slice{.rows = {}, .next_after = std::string(after.value_or("")), .end = true};
  const auto owner = context.tx.schedule(schedule);
  if (!owner || owner->deleted_at) return slice;
  // The empty name is that of the only subject, and above nothing.
  if (const auto only = after ? std::nullopt : context.tx.subject(schedule, ""); only && lives(*only, *owner)) {
    slice.rows.push_back(*only);
  }
  std::size_t left = limit;
  for (std::size_t most = std::min(limit, kSubjectsFirst); most > 0; most = std::min(left, 4 * most)) {
    std::vector<SubjectRow> rows = context.tx.subjects_above({schedule, slice.next_after}, most);
    slice.end = rows.size() < most || rows.back().schedule != schedule;
    for (SubjectRow& row : rows) {
      if (row.schedule != schedule) break;
      slice.next_after = row.subject;
      if (lives(row, *owner)) slice.rows.push_back(std::move(row));
    }
    if (slice.end) break;
    left -= most;
  }
  return slice;
}

std::size_t open_windows_of(Context& context, ScheduleId schedule, std::string_view subject, std::size_t most) {
  const auto row = context.tx.subject(schedule, subject);
  return row ? context.tx.open_outcomes(schedule, subject, row->cursor.value_or(kInstantMin), most) : 0;
}

std::vector<SubjectRow> due_subjects(Context& context, ScheduleId schedule, Instant until, std::size_t limit) {
  const auto owner = context.tx.schedule(schedule);
  if (!owner || owner->deleted_at) return {};
  // Those of an earlier life of the schedule are met here for the last time.
  for (int round = 0; round < kRetiringRoundsMax && !context.tx.failed(); ++round) {
    std::vector<SubjectRow> due = context.tx.subjects_due(schedule, until, limit);
    const bool found_none = due.empty();
    std::erase_if(due, [&](SubjectRow& row) {
      if (lives(row, *owner)) return false;
      retire_subject(context, row);
      return true;
    });
    if (found_none || !due.empty()) return due;
  }
  return {};
}

}  // namespace carillon
