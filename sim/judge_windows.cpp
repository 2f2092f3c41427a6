// Windows: each begins where the one before ends, and the cursor follows over what is closed. (invariants 20, 21)
#include <algorithm>

#include "sim/subject_model.h"

namespace carillon::sim {

namespace {

using namespace std::chrono_literals;

Duration interval_of(const SubjectView::Rule& rule) { return rule.subject->interval.value_or(rule.schedule->interval); }

bool is_closed(const OutcomeRow& row) { return row.outcome.has_value() || row.parked; }

// From there over all that is closed.
Instant run_of_closed(const SubjectView& view, Instant cursor) {
  const auto& outcomes = view.model.outcomes;
  for (;;) {
    auto found = outcomes.upper_bound({view.subject.row.schedule, view.subject.row.subject, cursor});
    if (found == outcomes.begin()) return cursor;
    --found;
    const OutcomeRow& row = found->second;
    const bool is_ours = row.schedule == view.subject.row.schedule && row.subject == view.subject.row.subject;
    if (!is_ours || !row.until || *row.until <= cursor || !is_closed(row)) return cursor;
    cursor = *row.until;
  }
}

std::size_t open_windows(const SubjectView& view) {
  std::size_t open = 0;
  const Instant from = view.subject.cursor.value_or(kInstantMin);
  const auto& outcomes = view.model.outcomes;
  for (auto row = outcomes.lower_bound({view.subject.row.schedule, view.subject.row.subject, from});
       row != outcomes.end() && row->second.schedule == view.subject.row.schedule &&
       row->second.subject == view.subject.row.subject;
       ++row) {
    if (!is_closed(row->second)) ++open;
  }
  return open;
}

void judge_window(const SubjectView& view, const OutcomeRow& row) {
  const std::string& name = view.subject.row.subject;
  const Instant end = row.until.value_or(row.slot);
  const auto rules = view.rules();
  const bool fits = std::ranges::any_of(rules, [&](const auto& rule) { return end - row.slot == interval_of(rule); });
  view.findings.expect(fits, 21, "the window of {} from {} to {} has not the length in force", name,
                       ShownTime{row.slot}, ShownTime{end});
  const bool is_over =
      std::ranges::any_of(rules, [&](const auto& rule) { return end <= view.now - rule.schedule->lag; });
  view.findings.expect(is_over, 21, "the window of {} to {} was planned at {}, before its lag was over", name,
                       ShownTime{end}, ShownTime{view.now});
}

void judge_range(const SubjectView& view, const OutcomeRow& row) {
  const std::string& name = view.subject.row.subject;
  const Instant end = row.until.value_or(row.slot);
  view.findings.expect(*row.outcome == JobState::missed, 3, "windows of {} were closed as {}", name,
                       to_string(*row.outcome));
  if (row.reason == "cursor_set") {
    view.findings.expect(view.subject.intended_cursor == end, 20, "the cursor of {} was set to {}, and nobody asked",
                         name, ShownTime{end});
    return;
  }
  const auto rules = view.rules();
  const bool fits = std::ranges::any_of(rules, [&](const auto& rule) {
    return rule.schedule->max_age && end - row.slot == row.count * interval_of(rule) &&
           end < view.now - *rule.schedule->max_age;
  });
  view.findings.expect(fits && row.reason == "max_age", 21, "{} windows of {} from {} to {} were closed, {}", row.count,
                       name, ShownTime{row.slot}, ShownTime{end}, row.reason);
}

// Where it begins, and what it may jump to because somebody asked.
void judge_cursor(const SubjectView& view) {
  SubjectModel& subject = view.subject;
  const std::optional<Instant>& stored = subject.row.cursor;
  const std::string& name = subject.row.subject;
  if (!stored) {
    view.findings.expect(!subject.cursor, 20, "the cursor of {} is gone", name);
    return;
  }
  if (!subject.cursor) {
    const auto rules = view.rules();
    const bool begins = std::ranges::any_of(rules, [&](const auto& rule) {
      const Instant first = std::chrono::floor<std::chrono::minutes>(view.now) - interval_of(rule);
      return *stored == run_of_closed(view, first);
    });
    const bool asked = subject.intended_cursor && *stored == run_of_closed(view, *subject.intended_cursor);
    view.findings.expect(begins || asked, 20, "the cursor of {} begins at {}, now is {}", name, ShownTime{*stored},
                         ShownTime{view.now});
  } else {
    const Instant run = run_of_closed(view, *subject.cursor);
    const bool asked = subject.intended_cursor && *stored == run_of_closed(view, *subject.intended_cursor);
    view.findings.expect(*stored >= *subject.cursor, 20, "the cursor of {} fell from {} to {}", name,
                         ShownTime{*subject.cursor}, ShownTime{*stored});
    view.findings.expect(*stored == run || asked, 20, "the cursor of {} stands at {}, and should at {}", name,
                         ShownTime{*stored}, ShownTime{run});
  }
  subject.cursor = stored;
}

}  // namespace

void judge_windows(const SubjectView& view) {
  SubjectModel& subject = view.subject;
  std::vector<OutcomeRow> planned = view.touch.opened;
  planned.insert(planned.end(), view.touch.closed.begin(), view.touch.closed.end());
  std::ranges::sort(planned, {}, &OutcomeRow::slot);
  for (const OutcomeRow& row : planned) {
    if (subject.planned_end) {
      view.findings.expect(row.slot == *subject.planned_end, 21,
                           "a window of {} begins at {}; the one before ended at {}", subject.row.subject,
                           ShownTime{row.slot}, ShownTime{*subject.planned_end});
    }
    if (row.job) {
      judge_window(view, row);
    } else {
      judge_range(view, row);
    }
    subject.planned_end = row.until;
  }
  judge_cursor(view);
  if (!subject.planned_end) subject.planned_end = subject.row.cursor;
  // A cursor that was set beyond everything takes planning along.
  if (subject.planned_end && subject.cursor) subject.planned_end = std::max(*subject.planned_end, *subject.cursor);
  subject.due.reset();
  if (!subject.spec || !view.owner.spec || !subject.planned_end) return;
  const std::size_t open = open_windows(view);
  std::size_t most = 0;
  for (const auto& rule : view.rules()) most = std::max(most, rule.schedule->max_backfill);
  // Those that an operator took out of the DLQ come on top.
  const bool plans = std::ranges::any_of(planned, [](const OutcomeRow& row) { return bool(row.job); });
  std::size_t again = 0;
  for (const auto& [id, job] : view.model.live) {
    if (job.row.schedule == subject.row.schedule && job.row.subject == subject.row.subject && job.was_parked) ++again;
  }
  view.findings.expect(!plans || open <= most + again, 21, "{} windows of {} are open; at most {} may be", open,
                       subject.row.subject, most);
  if (open < view.owner.spec->max_backfill) {
    subject.due = std::max(*subject.planned_end + interval_of(view.rule()) + view.owner.spec->lag, subject.calm_since);
  }
}

}  // namespace carillon::sim
