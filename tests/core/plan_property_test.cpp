// Any trigger, any policy, any clock: every occurrence is handled once.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/random_triggers.h"
#include "core/schedules/plan.h"
#include "core/times.h"

namespace carillon {
namespace {

using test::draw;

constexpr int kRoundsMax = 10;

Schedule any_schedule() {
  Schedule schedule;
  schedule.name = "any";
  schedule.job.type = "t";
  schedule.overlap = static_cast<OverlapPolicy>(draw(0, 3));
  schedule.misfire = {
      .kind = static_cast<MisfireKind>(draw(0, schedule.overlap == OverlapPolicy::allow ? 2 : 1)),
      .max = draw<std::uint32_t>(1, 8),
      .max_age = draw(0, 2) == 0 ? std::optional<Duration>(std::chrono::hours(draw(0, 2000))) : std::nullopt,
      .grace = std::chrono::seconds(draw(0, 1) == 0 ? draw(0, 100'000) : 60)};
  schedule.jitter = std::chrono::seconds(draw(0, 1) * draw(0, 7200));
  RC_LOG() << "overlap " << to_string(schedule.overlap) << ", misfire " << to_string(schedule.misfire.kind) << '\n';
  return schedule;
}

// Whatever the store may hold.
std::vector<OpenJob> any_open_jobs() {
  std::vector<OpenJob> open;
  for (int i = draw(0, 3); i > 0; --i)
    open.push_back({.id = JobId{10 - i}, .state = static_cast<JobState>(draw(0, 3))});
  return open;
}

// Which occurrences were handled, and how often.
class Ledger {
 public:
  Ledger(const std::vector<Occurrence>& walked, Duration jitter) : jitter_(jitter) {
    for (const Occurrence& occurrence : walked) times_[occurrence.at] = 0;
  }

  void add(const SubjectPlan& plan) {
    std::optional<Instant> newest = position_;
    std::map<JobId, Instant> named;
    for (const NewJob& job : plan.jobs) {
      const Instant slot = job.occurrence->slot;
      RC_ASSERT((position_ < slot));
      RC_ASSERT((newest_job_ < slot));
      newest_job_ = slot;
      ++times_.at(slot);
      newest = std::max(newest.value_or(slot), slot);
      RC_ASSERT((*job.run_at >= slot && *job.run_at - slot <= jitter_));
      // Whom it waits for stands before it, or was open.
      for (const JobId id : job.depends_on) RC_ASSERT((named.contains(id) || id.value < 10));
      if (job.id) RC_ASSERT(named.try_emplace(job.id, slot).second);
    }
    for (const ClosedOccurrences& closed : plan.closed) {
      const Instant last = closed.until.value_or(closed.first);
      RC_ASSERT((times_.contains(closed.first) && times_.contains(last)));
      RC_ASSERT((position_ < closed.first));
      std::int64_t count = 0;
      for (auto at = times_.find(closed.first); at != times_.end() && at->first <= last; ++at) {
        ++at->second;
        ++count;
      }
      RC_ASSERT(closed.count == count);
      RC_ASSERT((closed.outcome == JobState::missed) == (closed.reason == "misfire"));
      newest = std::max(newest.value_or(last), last);
    }
    RC_ASSERT((plan.position == newest));
    if (plan.next_at) RC_ASSERT((newest < plan.next_at));
    position_ = newest;
  }

  void expect_handled_once_up_to(Instant now) const {
    for (const auto& [at, times] : times_) RC_ASSERT(times == (at <= now ? 1 : 0));
  }

 private:
  std::map<Instant, int> times_;
  Duration jitter_;
  std::optional<Instant> position_;
  std::optional<Instant> newest_job_;
};

RC_GTEST_PROP(Plan, EveryOccurrenceIsHandledExactlyOnce, ()) {  // invariants 1, 3
  const test::AnyTimetable any = test::any_timetable();
  const std::vector<Occurrence> walked = test::walk(any.timetable, any.begin, 200);
  const Schedule schedule = any_schedule();
  Ledger ledger(walked, schedule.jitter);
  std::optional<Instant> next_at = first_time(any.timetable, any.begin, std::nullopt);
  std::optional<Instant> position;
  Instant newest = any.begin;
  std::int64_t ids = 1000;
  for (int jumps = draw(1, 12); jumps > 0; --jumps) {
    // Near an occurrence, ahead or back.
    const Instant near = walked[draw<std::size_t>(0, walked.size() - 1)].at;
    const Instant now = std::min(walked.back().at, near + draw(0, 1) * schedule.misfire.grace + Duration(draw(-1, 1)));
    newest = std::max(newest, now);
    // One that was worked out long ago is held back by the position.
    if (next_at && draw(0, 3) == 0) next_at = walked.front().at;
    int rounds = 0;
    do {
      if (!next_at) break;
      RC_ASSERT(++rounds <= kRoundsMax);
      const SubjectPlan plan = plan_subject({.tenant = "acme",
                                             .schedule = schedule,
                                             .timetable = &any.timetable,
                                             .subject = "s",
                                             .next_at = *next_at,
                                             .position = position,
                                             .now = now,
                                             .open = any_open_jobs(),
                                             .new_job_id = [&ids] { return JobId{++ids}; }});
      ledger.add(plan);
      next_at = plan.next_at;
      position = plan.position;
    } while (next_at && *next_at <= now);
    ledger.expect_handled_once_up_to(newest);
  }
  RC_ASSERT((next_at == first_time(any.timetable, newest, position)));
}

}  // namespace
}  // namespace carillon
