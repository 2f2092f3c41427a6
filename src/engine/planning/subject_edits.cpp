#include "engine/planning/subject_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "core/kinds/windows.h"

namespace carillon {

namespace {

// Subjects written in one call of the store.
constexpr std::size_t kWrittenAtOnce = 1000;

Error on_line(std::size_t line, Error error) {
  error.line = line;
  return error;
}

StateChange state_of(const SubjectText& text) {
  return {.expected_at = text.expected_at, .last_status = {}, .cadence = {}};
}

SubjectEdit edit_of(const SubjectText& text) {
  return {.subject = text.subject,
          .if_version = {},
          .overrides = write_overrides(text.overrides),
          .enabled = text.overrides.enabled,
          .next_at = {},
          .position = {},
          .cursor = {},
          .state = state_of(text)};
}

}  // namespace

Result<void> check_no_import(Store& store, std::string_view tenant, std::string_view schedule) {
  const auto head = store.admin().document(import_key(tenant, schedule));
  if (head) {
    return failed(
        ErrorCode::conflict,
        fmt::format("an import into schedule {} is under way: try again when it has ended", quoted(schedule)));
  }
  if (head.error().code != ErrorCode::not_found) return std::unexpected(head.error());
  return {};
}

Result<ScheduleRow> SubjectEdits::with_fan_out(std::string_view tenant, std::string_view name, CompiledPtr& compiled) {
  TRY_ASSIGN(ScheduleRow row, store_.plans().schedule(tenant, name));
  TRY_ASSIGN(compiled, compiler_.compile(row));
  if (!compiled->schedule.fan_out) {
    return failed(ErrorCode::conflict,
                  fmt::format("schedule {} has no fan_out: it has no subjects but itself", quoted(name)));
  }
  return row;
}

Result<bool> SubjectEdits::fans_out(std::string_view tenant, std::string_view schedule) {
  TRY_ASSIGN(const ScheduleRow row, store_.plans().schedule(tenant, schedule));
  TRY_ASSIGN(const auto compiled, compiler_.compile(row));
  return compiled->schedule.fan_out;
}

Result<SubjectEdits::SubjectChanged> SubjectEdits::put_subject(Round& round, const SubjectCall& call) {
  CompiledPtr compiled;
  TRY_ASSIGN(const ScheduleRow row, with_fan_out(call.tenant, call.schedule, compiled));
  const Ruling ruling{row, *compiled};
  const auto known = store_.plans().subject(row.id, call.subject);
  if (!known && known.error().code != ErrorCode::not_found) return std::unexpected(known.error());
  if (!known && call.patches) return std::unexpected(known.error());
  const std::int64_t version = known ? known->version : 0;
  if (call.if_version && *call.if_version != version) {
    return failed(ErrorCode::conflict, fmt::format("subject {} has version {}, not {}: it was changed meanwhile",
                                                   quoted(call.subject), version, *call.if_version));
  }
  SubjectText text;
  if (call.patches) {
    TRY_ASSIGN(SubjectOverrides before, read_overrides(known->overrides));
    before.enabled = known->enabled;
    TRY_ASSIGN(text, patch_subject(before, call.body));
  } else {
    TRY_ASSIGN(text, parse_subject(call.body));
  }
  text.subject = call.subject;
  TRY(check_subject_name(text.subject));
  TRY(check_subject(text, compiled->schedule, rules_.windows()));
  if (text.overrides.limits) {
    TRY_ASSIGN(const SubjectOverrides before, known ? read_overrides(known->overrides) : Result<SubjectOverrides>());
    TRY(rules_.check_limits(call.tenant, *text.overrides.limits, before.limits.value_or(std::vector<std::string>())));
  }
  if (known) TRY(check_cursor_of(ruling, text, *known, round.now));
  TRY(check_times_of(ruling, text, round.now));
  if (text.trigger) TRY(check_can_run(round, ruling, text));
  SubjectChanged changed{.put = {}, .before = known ? std::optional(*known) : std::nullopt, .triggered = {}};
  TRY_ASSIGN(changed.put, known ? change_subject(round, ruling, text, *known) : make_subject(round, ruling, text));
  TRY(index_.remember(round, row));
  if (text.trigger) {
    Client::TriggerOptions options;
    options.subject = text.subject;
    const ManualRuns::Push by{
        .key = {}, .said = {}, .created_by = std::string(call.actor), .meta = {}, .expected_at = {}};
    TRY_ASSIGN(changed.triggered, manual_runs_.trigger(round, call.tenant, call.schedule, options, by));
    TRY_ASSIGN(changed.put.row, store_.plans().subject(row.id, text.subject));
  }
  return changed;
}

// The rule may have no time by its own start, or in its own zone.
Result<void> SubjectEdits::check_times_of(const Ruling& ruling, const SubjectText& text, Instant now) {
  if (!ruling.compiled.timetable || !(text.overrides.timezone || text.overrides.start)) return {};
  const SubjectRow draft{.schedule = ruling.row.id, .subject = text.subject};
  TRY(subjects_.bare_facts(ruling, draft, text.overrides, now));
  return {};
}

// Asked before anything is written: what a call does, it does wholly or not at all.
Result<void> SubjectEdits::check_can_run(Round& round, const Ruling& ruling, const SubjectText& text) {
  const Schedule& schedule = ruling.compiled.schedule;
  TRY(manual_runs_.check_not_running(ruling.row, schedule, text.subject));
  if (!traits_of(schedule).has_expected_time) return {};
  const bool is_over = schedule.ends_at && *schedule.ends_at < round.now;
  if (!text.overrides.enabled || is_over) {
    return failed(ErrorCode::conflict, fmt::format("subject {} cannot be run now: {}", quoted(text.subject),
                                                   is_over ? "its schedule has ended" : "it is to be disabled"));
  }
  return {};
}

Result<void> SubjectEdits::check_cursor_of(const Ruling& ruling, const SubjectText& text, const SubjectRow& known,
                                           Instant now) {
  if (!text.cursor_end) return {};
  TRY_ASSIGN(const auto facts, subjects_.facts_of(ruling, known, now));
  auto checked = check_cursor(facts.plan, *text.cursor_end);
  if (!checked) return std::unexpected(about_field("cursor_end", std::move(checked).error()));
  return {};
}

Result<PutSubject> SubjectEdits::change_subject(Round& round, const Ruling& ruling, const SubjectText& text,
                                                SubjectRow known) {
  // What was due before the change belongs to what was there before it.
  if (known.next_at && *known.next_at <= round.now && runs_at(ruling.row, round.now)) {
    TRY(due_.plan_subject(round, ruling, known));
    TRY_ASSIGN(known, store_.plans().subject(known.schedule, known.subject));
  }
  TRY_ASSIGN(std::vector<PutSubject> put, store_.plans().put_subjects(ruling.row.id, std::array{edit_of(text)}));
  PutSubject& answer = put.front();
  const bool moves_cursor = text.cursor_end && text.cursor_end != answer.row.cursor;
  if (answer.fate == SubjectFate::unchanged && !moves_cursor) return answer;
  const bool goes_on = text.overrides.enabled && !known.enabled;
  TRY(subjects_.anchor(round, ruling, answer.row,
                       {.what = goes_on ? SubjectChange::What::resumed : SubjectChange::What::edited,
                        .at = round.now,
                        .cursor_end = text.cursor_end}));
  if (goes_on) held_.release_subject(round, ruling.row.id, text.subject);
  TRY_ASSIGN(answer.row, store_.plans().subject(ruling.row.id, text.subject));
  answer.fate = SubjectFate::updated;
  TRY(stand_behind_edit(ruling, answer));
  return answer;
}

Result<SubjectEdit> SubjectEdits::edit_of_new(const Ruling& ruling, const SubjectText& text, Instant now) {
  SubjectEdit edit = edit_of(text);
  edit.is_new = true;
  // Where a cursor begins depends on what an earlier life of the subject has left.
  if (traits_of(ruling.compiled.schedule).keeps_cursor) return edit;
  const SubjectRow draft{.schedule = ruling.row.id, .subject = text.subject};
  TRY_ASSIGN(auto facts, subjects_.bare_facts(ruling, draft, text.overrides, now));
  if (text.expected_at) facts.plan.expected_at = *text.expected_at;
  SubjectPlan plan =
      anchor_subject(facts.plan, {.what = SubjectChange::What::made, .at = now, .cursor_end = text.cursor_end});
  edit.next_at = plan.next_at;
  edit.position = plan.position;
  edit.state->cadence = std::move(plan.cadence);
  return edit;
}

Result<PutSubject> SubjectEdits::made_subject(Round& round, const Ruling& ruling, const SubjectText& text,
                                              const SubjectEdit& edit, PutSubject made) {
  const bool begins_as_planned = edit.next_at && made.row.position == edit.position;
  if (!begins_as_planned) {
    TRY(subjects_.anchor(round, ruling, made.row,
                         {.what = SubjectChange::What::made, .at = round.now, .cursor_end = text.cursor_end}));
    TRY_ASSIGN(made.row, store_.plans().subject(ruling.row.id, text.subject));
  }
  TRY(stand_behind_edit(ruling, made));
  return made;
}

Result<PutSubject> SubjectEdits::make_subject(Round& round, const Ruling& ruling, const SubjectText& text) {
  TRY_ASSIGN(const SubjectEdit edit, edit_of_new(ruling, text, round.now));
  TRY_ASSIGN(std::vector<PutSubject> made, store_.plans().put_subjects(ruling.row.id, std::array{edit}));
  return made_subject(round, ruling, text, edit, std::move(made.front()));
}

Result<std::vector<std::optional<SubjectRow>>> SubjectEdits::known_of(const ScheduleRow& row,
                                                                      std::span<const ImportLine> lines) {
  std::vector<std::string_view> subjects;
  subjects.reserve(lines.size());
  for (const ImportLine& line : lines) subjects.push_back(line.text.subject);
  return store_.plans().subjects(row.id, subjects);
}

// All that can be refused is refused before the first one is written.
Result<void> SubjectEdits::check_import(Round& round, std::string_view tenant, std::string_view schedule,
                                        std::span<const ImportLine> lines) {
  CompiledPtr compiled;
  TRY_ASSIGN(const ScheduleRow row, with_fan_out(tenant, schedule, compiled));
  const Ruling ruling{row, *compiled};
  const bool has_cursors =
      std::ranges::any_of(lines, [](const auto& line) { return line.text.cursor_end.has_value(); });
  std::vector<std::optional<SubjectRow>> known(lines.size());
  if (has_cursors) {
    TRY_ASSIGN(known, known_of(row, lines));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& [text, line] = lines[i];
    auto checked = [&]() -> Result<void> {
      TRY(check_subject_name(text.subject));
      TRY(check_subject(text, compiled->schedule, rules_.windows()));
      if (text.overrides.limits) TRY(rules_.check_limits(tenant, *text.overrides.limits));
      TRY(check_times_of(ruling, text, round.now));
      if (!known[i]) return {};
      return check_cursor_of(ruling, text, *known[i], round.now);
    }();
    if (!checked) return std::unexpected(on_line(line, std::move(checked).error()));
  }
  return {};
}

Result<ImportedSubjects> SubjectEdits::write_import(Round& round, std::string_view tenant, std::string_view schedule,
                                                    std::span<const ImportLine> lines) {
  CompiledPtr compiled;
  TRY_ASSIGN(const ScheduleRow row, with_fan_out(tenant, schedule, compiled));
  const Ruling ruling{row, *compiled};
  TRY_ASSIGN(std::vector<std::optional<SubjectRow>> known, known_of(row, lines));
  ImportedSubjects counts;
  const auto count = [&](SubjectFate fate) {
    ++(fate == SubjectFate::created   ? counts.created
       : fate == SubjectFate::updated ? counts.updated
                                      : counts.unchanged);
  };
  std::vector<SubjectEdit> edits;
  std::vector<std::size_t> edited;  // which line each is
  std::unordered_set<std::string_view> names;
  const auto write = [&]() -> Result<void> {
    TRY_ASSIGN(std::vector<PutSubject> made, store_.plans().put_subjects(row.id, edits));
    for (std::size_t i = 0; i < made.size(); ++i) {
      count(made[i].fate);
      TRY(made_subject(round, ruling, lines[edited[i]].text, edits[i], std::move(made[i])));
    }
    edits.clear();
    edited.clear();
    return {};
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const SubjectText& text = lines[i].text;
    const bool comes_again = !names.insert(text.subject).second;
    if (!known[i] && !comes_again) {
      TRY_ASSIGN(SubjectEdit edit, edit_of_new(ruling, text, round.now));
      edits.push_back(std::move(edit));
      edited.push_back(i);
      if (edits.size() == kWrittenAtOnce) TRY(write());
      continue;
    }
    if (comes_again) {
      TRY(write());
      TRY_ASSIGN(known[i], store_.plans().subject(row.id, text.subject));
    }
    TRY_ASSIGN(const PutSubject put, change_subject(round, ruling, text, *known[i]));
    count(put.fate);
  }
  TRY(write());
  TRY(index_.remember(round, row));
  return counts;
}

Result<void> SubjectEdits::delete_subject(Round& round, std::string_view tenant, std::string_view schedule,
                                          std::string_view subject) {
  CompiledPtr compiled;
  TRY_ASSIGN(const ScheduleRow row, with_fan_out(tenant, schedule, compiled));
  TRY_ASSIGN(const SubjectRow known, store_.plans().subject(row.id, subject));
  // The newest first, so that none is released before its turn. One that runs, or that an operator decides about,
  // stays.
  TRY_ASSIGN(const std::vector<JobId> unstarted, store_.plans().unstarted_jobs(row.id, subject));
  for (const JobId job : unstarted) {
    TRY_ASSIGN(const Changed changed, std::move(store_.jobs().act(tenant, JobAction::cancel, std::array{job}).front()));
    note_moved(round, {changed});
  }
  TRY(store_.plans().delete_subject(row.id, known.subject));
  held_.release_subject(round, row.id, subject);
  return index_.remember(round, row);
}

Result<void> SubjectEdits::stand_behind_edit(const Ruling& ruling, PutSubject& put) {
  const auto first_time = replans_.first_time_behind_edit(put.row);
  if (!first_time) return {};
  SubjectEdit edit{.subject = put.row.subject};
  edit.next_at = first_time;
  TRY_ASSIGN(std::vector<PutSubject> moved, store_.plans().put_subjects(ruling.row.id, std::array{edit}));
  put.row = std::move(moved.front().row);
  return {};
}

}  // namespace carillon
