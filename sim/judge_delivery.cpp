// Deliveries: one outcome per subject and day, in its window or never. (invariants 1, 2, 3, 22, 32)
#include <algorithm>

#include "sim/calendar.h"
#include "sim/subject_model.h"

namespace carillon::sim {

namespace {

using namespace std::chrono;
using namespace std::chrono_literals;

struct Day {
  Instant start;
  Instant cutoff;
};

// The day is that of the cutoff, wherever the window begins.
Day day_of(const SubjectView::Rule& rule, sys_days day) {
  const Instant local = Instant(day) + rule.subject->at.value_or(rule.schedule->at);
  const Instant cutoff = instant_of_local(rule.subject->zone.value_or(rule.schedule->zone), local);
  return {.start = cutoff - rule.schedule->window, .cutoff = cutoff};
}

std::string shown(sys_days day) { return format_instant(Instant(day)).substr(0, 10); }

// A round may take so long from its beginning to its commit, by which the judge knows when somebody said something.
constexpr Duration kRoundMax = 1min;
// Planned times are whole milliseconds.
constexpr Duration kRounded = 1ms;

// The first attempt is planned for the start of the window, or for when the subject begins inside it: made, enabled,
// resumed or moved there.
bool begins_in_time(const SubjectView& view, const SubjectView::Rule& rule, const JobRow& job, const Day& times) {
  const ScheduleSpec& spec = *rule.schedule;
  const Duration room = spec.spread ? spec.window - spec.retry_delay - spec.job->timeout : Duration(0);
  const Instant spread_until = times.start + std::max(room, Duration(0));
  const auto& due = view.touch.before.due;
  // Of a later day nothing is insisted on yet for this one.
  const bool is_calm = due && *due < times.cutoff && !view.touch.is_disturbed && !view.owner.previous;
  if (!is_calm) return job.run_at >= times.start && job.run_at <= std::max(spread_until, view.now + kRounded);
  const Instant begins = std::max(times.start, *due);
  return job.run_at >= std::max(times.start, begins - kRoundMax) &&
         job.run_at <= std::max(spread_until, begins + kRounded);
}

bool fits(const SubjectView& view, const SubjectView::Rule& rule, const JobRow& job, sys_days day) {
  const Day times = day_of(rule, day);
  return job.deadline == times.cutoff && begins_in_time(view, rule, job, times);
}

void judge_job(const SubjectView& view, const JobRow& job) {
  const sys_days day = floor<days>(*job.slot);
  const std::string& name = view.subject.row.subject;
  const auto rules = view.rules();
  const auto rule = std::ranges::find_if(rules, [&](const auto& one) { return fits(view, one, job, day); });
  const Day wanted = day_of(view.rule(), day);
  if (!view.findings.expect(
          rule != rules.end() && Instant(day) == *job.slot, 22,
          "{} got a job for {} at {} with the cutoff {}; its window is {} to {}, and it begins {}", name, shown(day),
          ShownTime{job.run_at}, job.deadline ? format_instant(*job.deadline) : "none", ShownTime{wanted.start},
          ShownTime{wanted.cutoff}, view.touch.before.due ? format_instant(*view.touch.before.due) : "with it")) {
    return;
  }
  view.findings.expect(view.now >= day_of(*rule, day).start, 22, "{} of {} was planned before its window", shown(day),
                       name);
}

// Days that nobody saw pass: of these the newest is reported as a cutoff, the others are missed.
void judge_closed(const SubjectView& view, const OutcomeRow& row) {
  const sys_days first = floor<days>(row.slot);
  const sys_days last = row.until ? floor<days>(*row.until) : first;
  const std::string& name = view.subject.row.subject;
  view.findings.expect(row.count == (last - first).count() + 1, 34, "{} days of {} from {} on are written as {}",
                       (last - first).count() + 1, name, shown(first), row.count);
  const auto rules = view.rules();
  const auto passed = [&](sys_days day) {
    return std::ranges::any_of(rules, [&](const auto& rule) { return day_of(rule, day).cutoff <= view.now; });
  };
  const auto ahead = [&](sys_days day) {
    return std::ranges::any_of(rules, [&](const auto& rule) { return day_of(rule, day).cutoff > view.now; });
  };
  switch (*row.outcome) {
    case JobState::cutoff_reached:
      view.findings.expect(first == last && passed(first) && ahead(first + days(1)), 3,
                           "{} of {} was told as a cutoff, and is not the newest that passed", shown(first), name);
      return;
    case JobState::missed:
      view.findings.expect(passed(last + days(1)), 3, "{} of {} was missed, and is the newest that passed", shown(last),
                           name);
      return;
    default:
      view.findings.expect(*row.outcome == JobState::skipped && row.reason == "rescheduled" && passed(last), 3,
                           "{} of {} was closed as {}, {}", shown(first), name, to_string(*row.outcome), row.reason);
  }
}

}  // namespace

void judge_delivery(const SubjectView& view) {
  SubjectModel& subject = view.subject;
  std::vector<std::pair<sys_days, sys_days>> days_planned;
  for (const JobRow& job : view.touch.jobs) {
    judge_job(view, job);
    days_planned.emplace_back(floor<days>(*job.slot), floor<days>(*job.slot));
  }
  for (const OutcomeRow& row : view.touch.closed) {
    judge_closed(view, row);
    days_planned.emplace_back(floor<days>(row.slot), floor<days>(row.until.value_or(row.slot)));
  }
  for (const OutcomeRow& row : view.touch.opened) {
    const auto minute = floor<minutes>(row.slot.time_since_epoch()).count();
    const auto rules = view.rules();
    const bool is_due_time = std::ranges::any_of(rules, [&](const auto& rule) {
      return row.local_minute == minute + floor<minutes>(rule.subject->at.value_or(rule.schedule->at)).count();
    });
    view.findings.expect(is_due_time, 34, "{} of {} is counted under another minute than it is due",
                         shown(floor<days>(row.slot)), subject.row.subject);
  }
  std::ranges::sort(days_planned);
  for (const auto& [first, last] : days_planned) {
    view.findings.expect(!subject.covered || first > *subject.covered, 1, "{} of {} was planned before", shown(first),
                         subject.row.subject);
    subject.covered = last;
  }
  if (!subject.spec || !view.owner.spec) return;

  Instant from = subject.calm_since;
  subject.due.reset();
  const auto& paused_until = view.owner.row.paused_until;
  if (paused_until && *paused_until < kInstantMax) from = std::max(from, *paused_until - Duration(1));
  sys_days day = floor<days>(from) - days(2);
  if (subject.covered) day = std::max(day, *subject.covered + days(1));
  if (subject.passed) day = std::max(day, *subject.passed + days(1));
  while (day_of(view.rule(), day).cutoff <= from) day += days(1);
  if (view.touch.is_disturbed) subject.passed = day - days(1);
  if (paused_until != kInstantMax) subject.due = std::max(day_of(view.rule(), day).start, from);
}

}  // namespace carillon::sim
