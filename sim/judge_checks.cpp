// Adaptive checks: one open at a time, each plans the next, never in a burst, never too late. (invariants 19, 32)
#include <algorithm>

#include "sim/subject_model.h"
#include "store/job_text.h"
#include "store/subject_state.h"

namespace carillon::sim {

namespace {

using namespace std::chrono_literals;

struct Bounds {
  Instant earliest = kInstantMax;
  Instant latest = kInstantMin;
};

const Band& band_at(const ScheduleSpec& spec, std::optional<Instant> expected_at, Instant now) {
  if (!expected_at) return spec.bands.back();
  const Duration away = std::max(*expected_at - now, now - *expected_at);
  return *std::ranges::find_if(spec.bands, [&](const Band& band) { return away <= band.within; });
}

// When the check after that of `slot` may be, if both are planned now.
void widen(Bounds& bounds, const ScheduleSpec& spec, std::optional<Instant> expected_at, Instant slot, Instant now) {
  const Band& band = band_at(spec, expected_at, now);
  const bool may_be_late = slot + band.least <= now;
  const bool is_late = slot + band.most <= now;
  Instant earliest = may_be_late ? now + band.least / 2 : slot + band.least;
  Instant latest = may_be_late ? now + band.most : slot + band.most;
  if (may_be_late && !is_late) earliest = now;
  for (const Band& faster : spec.bands) {
    if (!expected_at || faster.within == kDurationMax) continue;
    const Instant begin = *expected_at - faster.within;
    if (begin <= now) continue;
    earliest = std::min(earliest, begin + faster.least);
    latest = std::min(latest, std::max(begin + faster.most, now + 1s));
  }
  bounds.earliest = std::min(bounds.earliest, earliest);
  bounds.latest = std::max(bounds.latest, latest);
}

bool is_open(const SubjectView& view, const LiveJob& job) {
  return job.row.schedule == view.subject.row.schedule && job.row.subject == view.subject.row.subject &&
         job.row.slot.has_value() && job.row.state != JobState::dlq && !job.was_parked;
}

void judge_open(const SubjectView& view) {
  if (view.touch.jobs.empty() && view.touch.closed.empty()) return;
  const auto open =
      std::ranges::count_if(view.model.live, [&](const auto& entry) { return is_open(view, entry.second); });
  view.findings.expect(open <= 1, 19, "{} has {} open checks", view.subject.row.subject, open);
  for (const OutcomeRow& row : view.touch.closed) {
    view.findings.expect(*row.outcome == JobState::skipped && row.reason == "check_open", 3,
                         "a check of {} was closed as {}, {}", view.subject.row.subject, to_string(*row.outcome),
                         row.reason);
    const bool was_open = std::ranges::any_of(view.model.live, [&](const auto& entry) {
      const LiveJob& job = entry.second;
      return is_open(view, job) || (job.was_parked && job.row.subject == view.subject.row.subject);
    });
    view.findings.expect(was_open || !view.touch.ended.empty(), 3, "a check of {} was skipped, and none was open",
                         view.subject.row.subject);
  }
}

void judge_next(const SubjectView& view) {
  const SubjectRow& row = view.subject.row;
  const std::optional<Instant>& next = row.next_at;
  if (!next || next == view.touch.before.row.next_at) return;
  std::optional<Instant> slot;
  for (const JobRow& job : view.touch.jobs) slot = job.slot;
  for (const OutcomeRow& closed : view.touch.closed) slot = closed.until.value_or(closed.slot);
  Bounds bounds;
  if (slot && !view.owner.previous && !view.touch.is_disturbed && view.touch.ended.empty()) {
    widen(bounds, *view.owner.spec, view.subject.expected_at, *slot, view.now);
    view.findings.expect(*next > view.now && *next >= bounds.earliest && *next <= bounds.latest, 19,
                         "after its check of {} the next of {} is at {}; allowed is {} to {}, at {}", ShownTime{*slot},
                         row.subject, ShownTime{*next}, ShownTime{bounds.earliest}, ShownTime{bounds.latest},
                         ShownTime{view.now});
    return;
  }
  // It was made, changed, or has learnt: no later than a step of the slowest from its last check, or from now.
  Duration slowest{};
  for (const auto& rule : view.rules()) {
    for (const Band& band : rule.schedule->bands) slowest = std::max(slowest, band.most);
  }
  const Instant base = std::max(row.position.value_or(view.now), view.now);
  view.findings.expect(*next <= base + slowest, 19, "the next check of {} is at {}, too far from {}", row.subject,
                       ShownTime{*next}, ShownTime{base});
}

bool is_by_hand(const JobRow& job) {
  const auto options = job.options.read();
  return options && options->origin == Origin::manual;
}

}  // namespace

void judge_checks(const SubjectView& view) {
  SubjectModel& subject = view.subject;
  judge_open(view);
  for (const JobRow& job : view.touch.jobs) {
    // One that somebody asked for in the millisecond of another has a slot after that one's.
    const Instant latest = is_by_hand(job) ? view.now + 1s : view.now;
    view.findings.expect(*job.slot <= latest, 19, "a check of {} for {} was made before its time", subject.row.subject,
                         ShownTime{*job.slot});
  }
  subject.due.reset();
  if (!subject.lives || !subject.spec) return;
  judge_next(view);
  const auto state = read_subject_state(subject.row);
  view.findings.expect(state && state->expected_at == subject.expected_at, 33,
                       "{} is expected at another time than was said", subject.row.subject);
  view.findings.expect(state && state->last_status == subject.last_status, 33, "the last status of {} is {}, not {}",
                       subject.row.subject, state ? state->last_status : "", subject.last_status);
  // Without a next time it would be stuck for ever.
  if (subject.row.enabled) subject.due = subject.row.next_at.value_or(subject.calm_since);
}

}  // namespace carillon::sim
