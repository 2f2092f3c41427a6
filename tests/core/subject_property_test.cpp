// Deliveries, windows and checks under any clock, zone and edit.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "core/kinds/adaptive.h"
#include "core/kinds/delivery.h"
#include "core/kinds/windows.h"
#include "core/planned_subject.h"
#include "core/random_triggers.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::draw;
using test::PlannedSubject;

constexpr int kRoundsMax = 20;

// How far the clock goes on until somebody looks again: mostly a little, sometimes days.
Duration any_wait() {
  switch (draw(0, 3)) {
    case 0: return std::chrono::seconds(draw(0, 120));
    case 1: return std::chrono::minutes(draw(0, 300));
    case 2: return std::chrono::hours(draw(0, 60));
    default: return std::chrono::hours(draw(-30, 600));  // back as well
  }
}

bool same(const SubjectPlan& a, const SubjectPlan& b) {
  const auto slots = [](const SubjectPlan& plan) {
    std::vector<std::tuple<Instant, std::optional<Instant>, std::string>> list;
    for (const NewJob& job : plan.jobs) list.emplace_back(job.occurrence->slot, job.run_at, job.payload);
    return list;
  };
  return slots(a) == slots(b) && a.closed == b.closed && a.next_at == b.next_at && a.position == b.position &&
         a.cursor == b.cursor && a.cadence == b.cadence;
}

// Plans until nothing is due, and checks that a plan is the same when it is asked for twice.
template <typename Look>
void plan_all(PlannedSubject& subject, Instant now, Look look) {
  int rounds = 0;
  do {
    RC_ASSERT(++rounds <= kRoundsMax);
    RC_ASSERT(same(plan_subject(subject.facts(now)), plan_subject(subject.facts(now))));
    look(subject.plan(now));
  } while (subject.next_at && *subject.next_at <= now);
}

// ---- Deliveries --------------------------------------------------------------------------------------------------

// Where each day ended.
class Days {
 public:
  void add(const SubjectPlan& plan) {
    for (const NewJob& job : plan.jobs) {
      RC_ASSERT(job.deadline.has_value() && job.run_at.has_value());
      RC_ASSERT((*job.run_at < *job.deadline));  // invariant 22
      take(job.occurrence->slot);
    }
    for (const ClosedOccurrences& closed : plan.closed) {
      std::int64_t count = 0;
      for (Instant slot = closed.first; slot <= closed.until.value_or(closed.first); slot += std::chrono::days(1)) {
        take(slot);
        ++count;
      }
      RC_ASSERT(closed.count <= count);  // a day that does not exist is part of a range, but not counted
    }
  }

  bool has(LocalDays day) const { return taken_.contains(slot_of_day(day)); }

 private:
  void take(Instant slot) {
    RC_ASSERT(std::chrono::floor<std::chrono::days>(slot) == slot);
    RC_ASSERT(taken_.insert(slot).second);  // invariants 1, 2
  }

  std::set<Instant> taken_;
};

PlannedSubject any_delivery() {
  Schedule schedule;
  schedule.name = "greet";
  schedule.job.type = "t";
  schedule.trigger = DeliveryTrigger{.due = {draw(0, 1439) * 60},
                                     .window = std::chrono::minutes(draw(1, 1199)),
                                     .retry_delay = std::chrono::minutes(draw(1, 60)),
                                     .spread = draw(0, 1) == 1};
  schedule.dst = {.gap = static_cast<DstGap>(draw(0, 2)), .overlap = static_cast<DstOverlap>(draw(0, 1))};
  PlannedSubject subject{.schedule = schedule};
  subject.zone = test::zone(test::any_zone());
  return subject;
}

Instant any_begin() {
  constexpr Instant kApia = std::chrono::sys_days(std::chrono::year(2011) / 12 / 20);
  constexpr Instant k2026 = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
  return draw(0, 4) == 0 ? kApia : k2026 + std::chrono::minutes(draw(0, 600'000));
}

RC_GTEST_PROP(Delivery, ADayHasAtMostOneJobAndOnePlaceWhateverIsChanged, ()) {
  PlannedSubject subject = any_delivery();
  Instant now = any_begin();
  Days days;
  subject.make(now);
  for (int i = draw(1, 25); i > 0; --i) {
    now += any_wait();
    switch (draw(0, 5)) {
      case 0:
        plan_all(subject, now, [&](const SubjectPlan& plan) { days.add(plan); });
        subject.overrides.due = TimeOfDay{draw(0, 1439) * 60};
        days.add(subject.edit(now));
        break;
      case 1:
        plan_all(subject, now, [&](const SubjectPlan& plan) { days.add(plan); });
        subject.zone = test::zone(test::any_zone());
        days.add(subject.edit(now));
        break;
      case 2: days.add(subject.resume(now)); break;
      default: plan_all(subject, now, [&](const SubjectPlan& plan) { days.add(plan); });
    }
  }
}

RC_GTEST_PROP(Delivery, EveryDayOfTheCalendarGetsExactlyOnePlace, ()) {  // invariant 3
  PlannedSubject subject = any_delivery();
  const Instant begin = any_begin();
  Instant now = begin;
  Days days;
  subject.make(now);
  const DeliveryCalendar calendar = DeliveryCalendar::of(subject.facts(now));
  const auto first = calendar.first_ahead(now);
  RC_ASSERT(first.has_value());
  Instant newest = begin - std::chrono::days(100);  // of when somebody looked
  for (int i = draw(1, 20); i > 0; --i) {
    now += any_wait();
    newest = std::max(newest, now);
    plan_all(subject, now, [&](const SubjectPlan& plan) { days.add(plan); });
  }
  RC_ASSERT(!days.has(first->day - std::chrono::days(1)));
  for (auto day = first; day && day->start <= newest + std::chrono::days(2); day = calendar.after(day->day)) {
    RC_ASSERT(days.has(day->day) == (day->start <= newest));
    RC_ASSERT((day->cutoff - day->start == std::get<DeliveryTrigger>(subject.schedule.trigger).window));
  }
}

// ---- Windows -----------------------------------------------------------------------------------------------------

// As a store would: windows close in any order, and the cursor follows.
class OpenWindows {
 public:
  explicit OpenWindows(PlannedSubject& subject) : subject_(subject) {}

  void add(const SubjectPlan& plan, Duration interval, std::size_t most, Instant now, Duration lag) {
    for (const ClosedOccurrences& closed : plan.closed) {
      RC_ASSERT(closed.first == end_);
      RC_ASSERT((closed.until && *closed.until > closed.first));
      closed_[closed.first] = *closed.until;
      end_ = *closed.until;
    }
    for (const NewJob& job : plan.jobs) {
      RC_ASSERT(job.occurrence->slot == end_);  // they abut
      RC_ASSERT((*job.occurrence->until == end_ + interval));
      RC_ASSERT((*job.occurrence->until <= now - lag));
      open_[job.occurrence->slot] = *job.occurrence->until;
      end_ = *job.occurrence->until;
    }
    RC_ASSERT(open_.size() <= most);
    RC_ASSERT((planned_end_of(subject_.position) == end_));
    move();
  }

  void begin() { end_ = planned_end_of(subject_.position).value(); }

  void close_one() {
    if (open_.empty()) return;
    const auto one = std::next(open_.begin(), draw<std::ptrdiff_t>(0, std::ssize(open_) - 1));
    closed_.insert(*one);
    open_.erase(one);
    move();
  }

 private:
  void move() {
    const Instant before = subject_.cursor.value();
    for (auto at = closed_.find(*subject_.cursor); at != closed_.end(); at = closed_.find(*subject_.cursor)) {
      subject_.cursor = at->second;
    }
    RC_ASSERT((*subject_.cursor >= before));
    subject_.open_windows = open_.size();
  }

  PlannedSubject& subject_;
  Instant end_;
  std::map<Instant, Instant> open_;
  std::map<Instant, Instant> closed_;
};

RC_GTEST_PROP(Windows, TheyAbutKeepTheirLengthAndAtMostSoManyAreOpen, ()) {  // invariants 20, 21
  Schedule schedule;
  schedule.name = "digest";
  schedule.job.type = "t";
  WindowsTrigger trigger;
  trigger.interval = std::chrono::seconds(draw(60, 100'000));
  trigger.lag = std::chrono::seconds(draw(0, 600));
  trigger.max_backfill = draw<std::uint32_t>(1, 8);
  if (draw(0, 1) == 1) trigger.max_age = trigger.lag + std::chrono::minutes(draw(1, 10'000));
  schedule.trigger = trigger;
  PlannedSubject subject{.schedule = schedule};
  Instant now = any_begin();
  subject.make(now);
  OpenWindows windows(subject);
  windows.begin();
  RC_ASSERT((subject.cursor == std::chrono::floor<std::chrono::minutes>(now) - trigger.interval));
  for (int i = draw(1, 30); i > 0; --i) {
    now += any_wait();
    const Duration interval = subject.overrides.interval.value_or(trigger.interval);
    const auto add = [&](const SubjectPlan& plan) {
      windows.add(plan, interval, *trigger.max_backfill, now, trigger.lag);
    };
    plan_all(subject, now, add);
    switch (draw(0, 4)) {
      case 0:
        subject.overrides.interval = std::chrono::seconds(draw(60, 100'000));
        add(subject.edit(now));
        break;
      case 1:
        subject.overrides.mode = "m" + std::to_string(i);
        add(subject.edit(now));
        break;
      case 2: {
        const Instant to = *planned_end_of(subject.position) + std::chrono::seconds(draw(0, 300'000));
        RC_ASSERT(check_cursor(subject.facts(now), to).has_value());
        const SubjectPlan set = subject.anchor(SubjectChange::What::edited, now, to);
        RC_ASSERT(subject.cursor == to);
        add(set);
        break;
      }
      default: windows.close_one();
    }
  }
}

// ---- Checks ------------------------------------------------------------------------------------------------------

CheckSpan any_span() {
  const Duration min = std::chrono::seconds(draw(1, 30'000));
  return {.min = min, .max = min + std::chrono::seconds(draw(0, 1) * draw(0, 30'000))};
}

RC_GTEST_PROP(Adaptive, NeverTwoChecksWithinTheFloorAndNeverOneLaterThanAllowed, ()) {
  AdaptiveTrigger trigger;
  Duration within{};
  for (int i = draw(0, 3); i > 0; --i) {
    within += std::chrono::seconds(draw(1, 500'000));
    trigger.bands.push_back({.within = within, .every = any_span()});
  }
  trigger.otherwise = any_span();
  if (draw(0, 1) == 1) trigger.floor = std::chrono::seconds(draw(1, 3000));
  if (draw(0, 1) == 1) trigger.ceiling = trigger.floor.value_or(1s) + std::chrono::seconds(draw(0, 20'000));
  Schedule schedule;
  schedule.name = "check";
  schedule.job.type = "t";
  schedule.trigger = trigger;
  PlannedSubject subject{.schedule = schedule};
  Instant now = any_begin();
  const auto expect = [&] {
    subject.expected_at =
        draw(0, 3) == 0 ? std::nullopt : std::optional(now + std::chrono::minutes(draw(-20'000, 20'000)));
  };
  expect();
  subject.make(now);

  std::optional<Instant> newest_slot;
  for (int i = draw(1, 60); i > 0; --i) {
    // Mostly when it is due, or a little later.
    const bool in_time = draw(0, 3) != 0;
    now = std::max(now, in_time ? *subject.next_at + std::chrono::seconds(draw(0, 2) * draw(0, 60)) : now + any_wait());
    if (*subject.next_at <= now) {
      const Instant due = *subject.next_at;
      const SubjectPlan plan = subject.plan(now);
      RC_ASSERT((plan.jobs.size() + plan.closed.size() == 1U));
      RC_ASSERT((!newest_slot || due - *newest_slot >= trigger.floor.value_or(1s)));
      newest_slot = due;
      RC_ASSERT((*plan.next_at > now));  // never a burst
      const AdaptiveTrigger::Band* band = band_at(trigger, subject.expected_at, now);
      const Duration floor = trigger.floor.value_or(1s);
      Duration most = std::max((band ? band->every : trigger.otherwise).max, floor);
      if (trigger.ceiling) most = std::min(most, *trigger.ceiling);
      RC_ASSERT((*plan.next_at - now <= most));
      for (const AdaptiveTrigger::Band& faster : trigger.bands) {
        if (!subject.expected_at || *subject.expected_at - faster.within <= now) continue;
        RC_ASSERT((*plan.next_at <= std::max(*subject.expected_at - faster.within + faster.every.max, now + floor)));
      }
      subject.open.clear();
      if (draw(0, 3) == 0) subject.open.push_back({.id = JobId{1}, .state = JobState::queued});
    }
    if (draw(0, 4) == 0) {
      expect();
      subject.edit(now);
      RC_ASSERT((*subject.next_at >= now));
    }
  }
}

}  // namespace
}  // namespace carillon
