// Occurrences that come while jobs of their subject are open: examples, and a model that shares no code with the
// planner.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/random_triggers.h"
#include "core/schedules/plan.h"
#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::draw;
using test::value_of;
using What = PlannedChange::What;
using enum JobState;

constexpr Instant kMidnight = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
constexpr JobId kOld{1};
constexpr JobId kWaits{2};

Instant minute(int n) { return kMidnight + std::chrono::minutes(n); }

Schedule every_minute(OverlapPolicy overlap) {
  Schedule schedule = value_of(
      parse_schedule(R"({"name": "n", "trigger": {"kind": "cron", "cron": "* * * * *"}, "misfire": {"grace": "1h"},
          "job": {"type": "t"}})"));
  schedule.overlap = overlap;
  return schedule;
}

// Ids from 1000 on.
class Ids {
 public:
  JobId next() { return JobId{++last_}; }

 private:
  std::int64_t last_ = 999;
};

struct Due {
  int first = 1;  // in minutes, as last
  int last = 1;
};

SubjectPlan plan_minutes(const Schedule& schedule, Due due, std::vector<OpenJob> open, Ids& ids) {
  const Timetable timetable = value_of(timetable_of(schedule, Zone::utc(), kMidnight));
  return plan_subject({.tenant = "acme",
                       .schedule = schedule,
                       .timetable = &timetable,
                       .subject = "",
                       .next_at = minute(due.first),
                       .position = {},
                       .now = minute(due.last),
                       .open = std::move(open),
                       .new_job_id = [&ids] { return ids.next(); }});
}

int minute_of(Instant at) { return static_cast<int>((at - kMidnight) / 1min); }

// "run 1 as 1000, run 3 after 1000; skipped 2 to 4; cancel 1"
std::string summary(const SubjectPlan& plan) {
  std::string text;
  for (const NewJob& job : plan.jobs) {
    text += fmt::format("{}run {}", text.empty() ? "" : ", ", minute_of(job.occurrence->slot));
    if (job.id) text += fmt::format(" as {}", job.id.value);
    for (const JobId id : job.depends_on) text += fmt::format(" after {}", id.value);
    EXPECT_EQ(job.options.run_anyway, !job.depends_on.empty());
  }
  for (const ClosedOccurrences& closed : plan.closed) {
    text += fmt::format("; {} {}", to_string(closed.outcome), minute_of(closed.first));
    if (closed.until) text += fmt::format(" to {}", minute_of(*closed.until));
    EXPECT_EQ(closed.reason, "overlap");
    EXPECT_EQ(closed.count, closed.until ? (*closed.until - closed.first) / 1min + 1 : 1);
  }
  for (const PlannedChange& change : plan.changes) {
    text += fmt::format("; {} {}", change.what == What::cancel ? "cancel" : "skip", change.job.value);
  }
  return text;
}

std::string outcome(OverlapPolicy policy, Due due, std::vector<OpenJob> open) {
  Ids ids;
  return summary(plan_minutes(every_minute(policy), due, std::move(open), ids));
}

TEST(PlanOverlap, AllowLetsAllRun) {
  EXPECT_EQ(outcome(OverlapPolicy::allow, {1, 3}, {{kOld, processing}, {kWaits, waiting}}), "run 1, run 2, run 3");
}

TEST(PlanOverlap, SkipLetsOneRunAndClosesTheRestAsARange) {
  EXPECT_EQ(outcome(OverlapPolicy::skip, {1, 1}, {}), "run 1");
  EXPECT_EQ(outcome(OverlapPolicy::skip, {1, 5}, {}), "run 1; skipped 2 to 5");
  EXPECT_EQ(outcome(OverlapPolicy::skip, {1, 1}, {{kOld, queued}}), "; skipped 1");
  EXPECT_EQ(outcome(OverlapPolicy::skip, {1, 3}, {{kOld, processing}}), "; skipped 1 to 3");
}

TEST(PlanOverlap, WithQueueOneTheNewestWaits) {
  EXPECT_EQ(outcome(OverlapPolicy::queue_one, {1, 1}, {}), "run 1");
  EXPECT_EQ(outcome(OverlapPolicy::queue_one, {1, 1}, {{kOld, queued}}), "run 1 after 1");
  EXPECT_EQ(outcome(OverlapPolicy::queue_one, {1, 1}, {{kOld, processing}, {kWaits, waiting}}),
            "run 1 after 1; skip 2");
  EXPECT_EQ(outcome(OverlapPolicy::queue_one, {1, 3}, {{kOld, processing}, {kWaits, waiting}}),
            "run 3 after 1; skipped 1 to 2; skip 2");
}

TEST(PlanOverlap, AJobThatAnotherOfThePlanWaitsForHasAnId) {
  EXPECT_EQ(outcome(OverlapPolicy::queue_one, {1, 2}, {}), "run 1 as 1000, run 2 after 1000");
  EXPECT_EQ(outcome(OverlapPolicy::queue_one, {1, 5}, {}), "run 1 as 1000, run 5 after 1000; skipped 2 to 4");
}

TEST(PlanOverlap, ReplaceCancelsAndWaitsOnlyForWhatRuns) {
  EXPECT_EQ(outcome(OverlapPolicy::replace, {1, 1}, {}), "run 1");
  EXPECT_EQ(outcome(OverlapPolicy::replace, {1, 1}, {{kOld, queued}}), "run 1; cancel 1");
  EXPECT_EQ(outcome(OverlapPolicy::replace, {1, 1}, {{kOld, processing}}), "run 1 after 1; cancel 1");
  EXPECT_EQ(outcome(OverlapPolicy::replace, {1, 1}, {{kOld, processing}, {kWaits, waiting}}),
            "run 1 after 1; skip 2; cancel 1");
  EXPECT_EQ(outcome(OverlapPolicy::replace, {1, 3}, {{kOld, processing}}), "run 3 after 1; skipped 1 to 2; cancel 1");
  EXPECT_EQ(outcome(OverlapPolicy::replace, {1, 3}, {}), "run 3; skipped 1 to 2");
}

TEST(PlanOverlap, WhatIsParkedIsNotOpen) {
  for (const auto policy : {OverlapPolicy::skip, OverlapPolicy::queue_one, OverlapPolicy::replace}) {
    EXPECT_EQ(outcome(policy, {1, 1}, {{kOld, dlq}}), "run 1") << to_string(policy);
  }
}

TEST(PlanOverlap, OneThatWaitsForAParkedJobDoesNotHoldUpTheSeries) {
  EXPECT_EQ(outcome(OverlapPolicy::queue_one, {1, 1}, {{kOld, dlq}, {kWaits, waiting}}), "run 1; skip 2");
  EXPECT_EQ(outcome(OverlapPolicy::replace, {1, 1}, {{kWaits, waiting}}), "run 1; skip 2");
  EXPECT_EQ(outcome(OverlapPolicy::queue_one, {1, 2}, {{kWaits, waiting}}), "run 1 as 1000, run 2 after 1000; skip 2");
}

TEST(PlanOverlap, SeveralThatRunAreAllWaitedFor) {
  EXPECT_EQ(outcome(OverlapPolicy::queue_one, {1, 1}, {{kOld, processing}, {kWaits, queued}}), "run 1 after 1 after 2");
  EXPECT_EQ(outcome(OverlapPolicy::replace, {1, 1}, {{kOld, processing}, {kWaits, queued}}),
            "run 1 after 1; cancel 1; cancel 2");
}

// ---- Plans applied one after the other, against a model ----------------------------------------------------------

// A store in miniature, which does what plans say.
class World {
 public:
  void apply(const SubjectPlan& plan, Ids& ids) {
    for (const NewJob& job : plan.jobs) {
      const bool waits = std::ranges::any_of(job.depends_on, [&](JobId id) { return !is_final(jobs_.at(id).state); });
      RC_ASSERT((job.depends_on.empty() || (waits && job.options.run_anyway)));
      const JobId id = job.id ? job.id : ids.next();
      const bool is_new = jobs_
                              .try_emplace(id, Job{.slot = minute_of(job.occurrence->slot),
                                                   .state = waits ? waiting : queued,
                                                   .waits_for = job.depends_on})
                              .second;
      RC_ASSERT(is_new);
    }
    for (const ClosedOccurrences& closed : plan.closed) {
      for (Instant at = closed.first; at <= closed.until.value_or(closed.first); at += 1min)
        skipped_.push_back(minute_of(at));
    }
    for (const PlannedChange& change : plan.changes) {
      RC_ASSERT(std::ranges::count(plan.changes, change.job, &PlannedChange::job) == 1);
      Job& job = jobs_.at(change.job);
      RC_ASSERT(is_open(job.state));
      if (change.what == What::skip) {
        RC_ASSERT(job.state == waiting);
        finish(change.job, skipped);
      } else if (job.state == processing) {
        job.cancel_requested = true;
      } else {
        finish(change.job, cancelled);
      }
    }
  }

  // All that are not final, by age.
  std::vector<OpenJob> open() const {
    std::vector<OpenJob> list;
    for (const auto& [id, job] : jobs_) {
      if (!is_final(job.state)) list.push_back({.id = id, .state = job.state});
    }
    std::ranges::sort(list, {}, [&](const OpenJob& job) { return jobs_.at(job.id).slot; });
    return list;
  }

  // The one job in `from`, if there is one, moves to `to`.
  void move(JobState from, JobState to) {
    const auto found = std::ranges::find_if(jobs_, [&](const auto& entry) { return entry.second.state == from; });
    if (found == jobs_.end()) return;
    if (is_final(to)) return finish(found->first, to);
    found->second.state = to;
  }

  std::map<int, std::string> fates() const {
    std::map<int, std::string> fates;
    for (const int slot : skipped_) RC_ASSERT(fates.try_emplace(slot, "skipped").second);
    for (const auto& [id, job] : jobs_) {
      std::string fate(to_string(job.state));
      if (job.state == processing && job.cancel_requested) fate += ", to stop";
      RC_ASSERT(fates.try_emplace(job.slot, fate).second);
    }
    return fates;
  }

 private:
  struct Job {
    int slot = 0;
    JobState state = queued;
    std::vector<JobId> waits_for;
    bool cancel_requested = false;
  };

  void finish(JobId id, JobState state) {
    jobs_.at(id).state = state;
    for (auto& [other, job] : jobs_) {
      if (job.state == waiting && std::erase(job.waits_for, id) > 0 && job.waits_for.empty()) job.state = queued;
    }
  }

  std::map<JobId, Job> jobs_;
  std::vector<int> skipped_;
};

// Section 4 of the semantics in the words of one runner and one that waits.
class Model {
 public:
  explicit Model(OverlapPolicy policy) : policy_(policy) {}

  void slot(int at) {
    if (runner_ == 0) {
      if (waiter_ != 0) fates_[waiter_] = "skipped";  // it waits for a parked job
      waiter_ = 0;
      begin(at);
    } else if (policy_ == OverlapPolicy::skip) {
      fates_[at] = "skipped";
    } else if (policy_ == OverlapPolicy::replace && fates_[runner_] == "queued") {
      fates_[runner_] = runner_ >= plan_begin_ ? "skipped" : "cancelled";
      begin(at);
    } else {
      if (policy_ == OverlapPolicy::replace) fates_[runner_] = "processing, to stop";
      if (waiter_ != 0) fates_[waiter_] = "skipped";
      waiter_ = at;
      fates_[at] = "waiting";
    }
  }
  void begin_plan(int first) { plan_begin_ = first; }

  void claim() {
    if (runner_ != 0) fates_[runner_] = fates_[runner_] == "queued" ? "processing" : fates_[runner_];
  }
  bool runs() { return runner_ != 0 && fates_[runner_] != "queued"; }
  void end(std::string_view fate) {
    fates_[runner_] = fate;
    runner_ = 0;
    if (fate != "dlq") promote();
  }
  const std::map<int, std::string>& fates() const { return fates_; }

 private:
  void begin(int at) {
    runner_ = at;
    fates_[at] = "queued";
  }
  void promote() {
    if (waiter_ == 0) return;
    begin(waiter_);
    waiter_ = 0;
  }

  OverlapPolicy policy_;
  std::map<int, std::string> fates_;
  int runner_ = 0;
  int waiter_ = 0;
  int plan_begin_ = 0;
};

RC_GTEST_PROP(PlanOverlap, DoesWhatTheModelDoes, ()) {  // invariants 1, 3
  const auto policy = test::pick(std::array{OverlapPolicy::skip, OverlapPolicy::queue_one, OverlapPolicy::replace});
  const Schedule schedule = every_minute(policy);
  Ids ids;
  World world;
  Model model(policy);
  int next = 1;
  for (int step = draw(1, 25); step > 0; --step) {
    switch (draw(0, 3)) {
      case 0: {
        const int last = next + draw(0, 4);
        world.apply(plan_minutes(schedule, {next, last}, world.open(), ids), ids);
        model.begin_plan(next);
        for (int at = next; at <= last; ++at) model.slot(at);
        next = last + 1;
        break;
      }
      case 1:
        world.move(queued, processing);
        model.claim();
        break;
      case 2:
        world.move(processing, done);
        if (model.runs()) model.end("done");
        break;
      default:
        world.move(processing, dlq);
        if (model.runs()) model.end("dlq");
        break;
    }
    RC_ASSERT(world.fates() == model.fates());
  }
}

}  // namespace
}  // namespace carillon
