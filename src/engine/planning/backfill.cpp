#include "engine/planning/backfill.h"

#include <fmt/format.h>

#include "core/kinds/windows.h"

namespace carillon {

Result<std::size_t> Backfill::windows_in(Round& round, std::string_view tenant, std::string_view schedule,
                                         const Client::BackfillRequest& range) {
  TRY_ASSIGN(const ScheduleRow row, store_.plans().schedule(tenant, schedule));
  TRY_ASSIGN(const auto compiled, compiler_.compile(row));
  if (!compiled->schedule.fan_out && !range.subject.empty()) {
    return failed(ErrorCode::conflict, fmt::format("schedule {} has no fan_out, and so no subject {}", quoted(schedule),
                                                   quoted(range.subject)));
  }
  SubjectRow subject{.schedule = row.id, .subject = range.subject};
  if (!range.subject.empty()) {
    TRY_ASSIGN(subject, store_.plans().subject(row.id, range.subject));
  }
  TRY_ASSIGN(const auto facts, subjects_.bare_facts({row, *compiled}, subject, round.now));
  TRY_ASSIGN(const std::vector<Window> windows, backfill_windows(facts.plan, {.start = range.from, .end = range.to}));
  return windows.size();
}

Result<BackfillStep> Backfill::step(Round& round, const BulkState& state, std::size_t most) {
  BackfillStep step{.next = *state.backfill};
  const auto row = store_.plans().schedule(state.filter.tenant, state.filter.schedule.value_or(""));
  const auto compiled = row ? compiler_.compile(*row) : Result<CompiledPtr>(nullptr);
  step.end = true;
  if (!compiled || !*compiled) return step;  // it was deleted meanwhile
  const Ruling ruling{*row, **compiled};
  const bool is_all = !state.filter.subject && (*compiled)->schedule.fan_out;
  std::vector<SubjectRow> subjects;
  std::string looked_to;
  // One that it stands in comes first, then those behind it.
  if (!is_all || step.next.window > 0) {
    auto one = store_.plans().subject(row->id, is_all ? step.next.subject : state.filter.subject.value_or(""));
    if (one) subjects.push_back(*std::move(one));
  }
  if (is_all) {
    const std::optional<std::string_view> after =
        step.next.subject.empty() ? std::nullopt : std::optional<std::string_view>(step.next.subject);
    TRY_ASSIGN(const SubjectSlice more, store_.plans().subjects_after(row->id, after, most));
    step.end = more.end;
    subjects.insert(subjects.end(), more.rows.begin(), more.rows.end());
    looked_to = more.next_after;
  }
  for (const SubjectRow& subject : subjects) {
    if (step.made >= most) {
      step.end = false;
      return step;
    }
    if (subject.subject != step.next.subject) step.next = {step.next.from, step.next.to, subject.subject, 0};
    const auto facts = subjects_.bare_facts(ruling, subject, round.now);
    if (!facts && !is_refusal(facts.error())) return std::unexpected(facts.error());
    const auto windows = facts ? backfill_windows(facts->plan, {.start = step.next.from, .end = step.next.to})
                               : Result<std::vector<Window>>(std::unexpected(facts.error()));
    if (!windows) {
      ++step.refused;
      continue;
    }
    for (; step.next.window < std::ssize(*windows); ++step.next.window) {
      if (step.made >= most) {
        step.end = false;
        return step;
      }
      auto job = manual_window(facts->plan, (*windows)[static_cast<std::size_t>(step.next.window)],
                               store_.jobs().new_job_id(), std::nullopt, kPriorityBackfilled);
      if (job) job->options.created_by = state.created_by;
      const auto made = job ? subjects_.enqueue(round, *job) : Result<Enqueued>(std::unexpected(job.error()));
      if (!made && !is_refusal(made.error())) return std::unexpected(made.error());
      ++(made ? step.made : step.refused);
    }
  }
  // Behind the last one that lives there may be many that do not.
  if (is_all && !looked_to.empty()) step.next = {step.next.from, step.next.to, looked_to, 0};
  return step;
}

}  // namespace carillon
