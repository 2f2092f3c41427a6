// The half of the planner that makes windows by hand over a range, a slice at a time. It never moves a cursor.
#include <fmt/format.h>

#include "core/window.h"
#include "engine/planner.h"

namespace carillon {

Result<std::size_t> Planner::windows_in(Round& round, std::string_view tenant, std::string_view schedule,
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

Result<BackfillStep> Planner::backfill(Round& round, const BulkState& state, std::size_t most) {
  BackfillStep step{.next = *state.backfill};
  const auto row = store_.plans().schedule(state.filter.tenant, state.filter.schedule.value_or(""));
  const auto compiled = row ? compiler_.compile(*row) : Result<CompiledPtr>(nullptr);
  step.end = true;
  if (!compiled || !*compiled) return step;  // it was deleted meanwhile
  const Ruling ruling{*row, **compiled};
  const bool is_all = !state.filter.subject && (*compiled)->schedule.fan_out;
  std::vector<SubjectRow> subjects;
  // One that it stands in comes first, then those behind it.
  if (!is_all || step.next.window > 0) {
    auto one = store_.plans().subject(row->id, is_all ? step.next.subject : state.filter.subject.value_or(""));
    if (one) subjects.push_back(*std::move(one));
  }
  if (is_all) {
    const std::optional<std::string_view> after =
        step.next.subject.empty() ? std::nullopt : std::optional<std::string_view>(step.next.subject);
    TRY_ASSIGN(const std::vector<SubjectRow> more, store_.plans().subjects_after(row->id, after, most));
    step.end = more.size() < most;
    subjects.insert(subjects.end(), more.begin(), more.end());
  }
  for (const SubjectRow& subject : subjects) {
    if (step.made >= most) {
      step.end = false;
      return step;
    }
    if (subject.subject != step.next.subject) step.next = {step.next.from, step.next.to, subject.subject, 0};
    TRY_ASSIGN(const auto facts, subjects_.bare_facts(ruling, subject, round.now));
    const auto windows = backfill_windows(facts.plan, {.start = step.next.from, .end = step.next.to});
    if (!windows) {
      ++step.refused;
      continue;
    }
    for (; step.next.window < std::ssize(*windows); ++step.next.window) {
      if (step.made >= most) {
        step.end = false;
        return step;
      }
      TRY_ASSIGN(const NewJob job, manual_window(facts.plan, (*windows)[static_cast<std::size_t>(step.next.window)],
                                                 store_.jobs().new_job_id(), std::nullopt, kPriorityBackfilled));
      TRY(subjects_.enqueue(round, job));
      ++step.made;
    }
  }
  return step;
}

}  // namespace carillon
