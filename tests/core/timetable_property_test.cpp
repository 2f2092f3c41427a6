// What must hold for every trigger of every kind, in every zone, under every policy.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "core/random_triggers.h"
#include "core/times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::any_timetable;
using test::AnyTimetable;
using test::draw;
using test::utc;
using test::walk;

constexpr std::size_t kWalked = 200;

Instant between(Instant low, Instant high) { return low + Duration(draw<std::int64_t>(0, (high - low).count())); }

// Two instants around what was walked, in order.
struct Span {
  Instant after;
  Instant upto;
};
Span any_span(const AnyTimetable& any, const std::vector<Occurrence>& walked) {
  const Instant first = std::max(any.begin, walked.front().at - 48h);
  const Instant a =
      draw(0, 2) == 0 ? walked[draw<std::size_t>(0, walked.size() - 1)].at : between(first, walked.back().at);
  const Instant b =
      draw(0, 2) == 0 ? walked[draw<std::size_t>(0, walked.size() - 1)].at : between(first, walked.back().at);
  return {std::min(a, b), std::max(a, b)};
}

RC_GTEST_PROP(TimetableProperty, NextStrictlyIncreases, ()) {
  const AnyTimetable any = any_timetable();
  Instant after = any.begin;
  for (std::size_t i = 0; i < kWalked; ++i) {
    const auto next = any.timetable.next(after);
    if (!next) break;
    RC_ASSERT(next->at > after);
    after = next->at;
  }
}

RC_GTEST_PROP(TimetableProperty, OneJumpEqualsWalking, ()) {
  const AnyTimetable any = any_timetable();
  const std::vector<Occurrence> walked = walk(any.timetable, any.begin, kWalked);
  for (int i = 0; i < 20; ++i) {
    const std::size_t index = draw<std::size_t>(0, walked.size() - 1);
    const Instant low = index == 0 ? any.begin : walked[index - 1].at;
    const Instant from =
        draw(0, 2) == 0 ? walked[index].at - Duration(1) : between(low, walked[index].at - Duration(1));
    const auto found = any.timetable.next(from);
    RC_ASSERT(found.has_value());
    RC_ASSERT(test::text_of(found->at) == test::text_of(walked[index].at));
    RC_ASSERT(found->local == walked[index].local);
    RC_ASSERT(found->note == walked[index].note);
  }
}

RC_GTEST_PROP(TimetableProperty, CountEqualsTheNumberWalked, ()) {
  const AnyTimetable any = any_timetable();
  const std::vector<Occurrence> walked = walk(any.timetable, any.begin, kWalked);
  for (int i = 0; i < 10; ++i) {
    const Span span = any_span(any, walked);
    const auto expected =
        std::ranges::count_if(walked, [&](const Occurrence& o) { return o.at > span.after && o.at <= span.upto; });
    RC_LOG() << "from " << format_instant(span.after) << " to " << format_instant(span.upto) << '\n';
    const auto counted = any.timetable.count(span.after, span.upto);
    RC_ASSERT(counted.has_value());
    RC_ASSERT(*counted == static_cast<std::uint64_t>(expected));
  }
}

RC_GTEST_PROP(TimetableProperty, NewestEqualsTheLastWalked, ()) {
  const AnyTimetable any = any_timetable();
  const std::vector<Occurrence> walked = walk(any.timetable, any.begin, kWalked);
  for (int i = 0; i < 10; ++i) {
    const Span span = any_span(any, walked);
    const auto beyond = std::ranges::upper_bound(walked, span.upto, {}, &Occurrence::at);
    const bool expected = beyond != walked.begin() && (beyond - 1)->at > span.after;
    const auto found = any.timetable.newest(span.after, span.upto);
    RC_ASSERT(found.has_value() == expected);
    if (found) RC_ASSERT(test::text_of(found->at) == test::text_of((beyond - 1)->at));
  }
}

RC_GTEST_PROP(TimetableProperty, OccurrencesKeepToTheirLimits, ()) {
  const test::AnyTrigger any = test::any_trigger();
  RC_LOG() << any.description << '\n';
  const auto made = Timetable::make(any.trigger, any.options);
  if (!made) RC_DISCARD("it never fires");
  const bool clock_changes_matter =
      std::holds_alternative<DailyTrigger>(any.trigger) || std::holds_alternative<WeeklyTrigger>(any.trigger) ||
      std::holds_alternative<CronTrigger>(any.trigger) || std::holds_alternative<RruleTrigger>(any.trigger);
  for (const Occurrence& o : walk(*made, utc("2005-01-01T00:00:00Z"), kWalked)) {
    RC_ASSERT((!any.options.starts_at || o.at >= *any.options.starts_at));
    RC_ASSERT((!any.options.ends_at || o.at <= *any.options.ends_at));
    RC_ASSERT(!any.options.exclude_dates.contains(std::chrono::floor<std::chrono::days>(o.local)));
    RC_ASSERT((o.note == DstNote::none || clock_changes_matter));
    if (o.note != DstNote::gap_shifted && o.note != DstNote::gap_next_valid) {
      RC_ASSERT(any.options.zone.to_local(o.at) == o.local);
    }
  }
}

// Excluded dates are what is left out of the same timetable without them, also where clocks change.
RC_GTEST_PROP(TimetableProperty, ExcludedDatesAreWhatAFilterLeavesOut, ()) {
  test::AnyTrigger any = test::any_trigger();
  any.options.exclude_dates.clear();
  const auto whole = Timetable::make(any.trigger, any.options);
  if (!whole) RC_DISCARD("it never fires");

  // Begin just before a clock change of the zone if there is one, so that dates around it are met.
  const UnixSeconds from = std::chrono::sys_days(std::chrono::year(2009) / 1 / 1) + std::chrono::days(draw(0, 6000));
  const UnixSeconds change = any.options.zone.stretch_at(from).end;
  const Instant begin = Instant(std::min(change, from + std::chrono::days(400))) - std::chrono::hours(draw(0, 40));
  const auto first_day = std::chrono::floor<std::chrono::days>(any.options.zone.to_local(begin));
  for (int i = draw(1, 4); i > 0; --i) any.options.exclude_dates.insert(first_day + std::chrono::days(draw(0, 4)));
  const auto made = Timetable::make(any.trigger, any.options);
  if (!made) RC_DISCARD("nothing is left");
  RC_LOG() << any.description << ", from " << format_instant(begin) << '\n';

  std::vector<Occurrence> expected = walk(*whole, begin, 3'000);
  if (expected.empty()) RC_DISCARD("it does not fire any more");
  const Instant end = expected.back().at;
  std::erase_if(expected, [&](const Occurrence& o) {
    return any.options.exclude_dates.contains(std::chrono::floor<std::chrono::days>(o.local));
  });
  std::vector<Occurrence> found = walk(*made, begin, expected.size() + 1);
  std::erase_if(found, [&](const Occurrence& o) { return o.at > end; });
  RC_ASSERT(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    RC_ASSERT(test::text_of(found[i].at) == test::text_of(expected[i].at));
    RC_ASSERT(found[i].local == expected[i].local);
  }
  // Of a rule that fires a few times a year, 3,000 times take centuries: counting them may cost too much.
  if (const auto counted = made->count(begin, end)) RC_ASSERT(*counted == static_cast<std::uint64_t>(expected.size()));
}

// ---- Wall-clock rules against a definition -----------------------------------------------------------------------
//
// In UTC there are no clock changes: a rule walked there gives the local times that it asks for. Each of them is then
// mapped into a zone as the policies say, and that must be what the rule gives in the zone.

struct WallCase {
  std::string rule;
  LocalSeconds start;
  std::vector<LocalSeconds> asked;
  LocalSeconds end;  // nothing beyond it was looked at
};

WallCase any_wall_case() {
  WallCase any;
  any.rule = test::any_rrule({.ends = false, .wall_clock = true});
  any.start =
      test::local("2009-10-20T00:00:00") + std::chrono::days(draw(0, 6000)) + std::chrono::seconds(1800 * draw(0, 47));
  any.end = any.start + std::chrono::days(900);
  RC_LOG() << any.rule << " from " << format_local_seconds(any.start) << '\n';
  const auto plain = Timetable::make(RruleTrigger{.rrule = any.rule, .start = any.start}, {});
  if (!plain) RC_DISCARD("it never fires");
  for (const Occurrence& o : walk(*plain, Instant(any.start.time_since_epoch()) - 1s, 2000)) {
    if (o.local > any.end) break;
    any.asked.push_back(o.local);
  }
  if (any.asked.size() == 2000) any.end = any.asked.back();
  if (any.asked.empty()) RC_DISCARD("it does not fire for years");
  return any;
}

std::set<Instant> mapped(const WallCase& any, const Zone& zone, DstPolicy dst) {
  std::set<Instant> expected;
  for (const LocalSeconds local : any.asked) {
    const Zone::Mapping mapping = zone.resolve(local);
    switch (mapping.kind) {
      case Zone::Mapping::Kind::unique: expected.insert(mapping.first); break;
      case Zone::Mapping::Kind::overlap:
        if (dst.overlap != DstOverlap::second) expected.insert(mapping.first);
        if (dst.overlap != DstOverlap::first) expected.insert(mapping.second);
        break;
      case Zone::Mapping::Kind::gap:
        if (dst.gap == DstGap::shift) expected.insert(mapping.first);
        // The shifted instant lies in the stretch that begins where the gap was.
        if (dst.gap == DstGap::next_valid) expected.insert(zone.stretch_at(mapping.first).begin);
        break;
    }
  }
  return expected;
}

RC_GTEST_PROP(WallClockProperty, EveryLocalTimeIsMappedAsThePoliciesSay, ()) {  // invariant 24
  const WallCase any = any_wall_case();
  const std::string zone_name = test::any_zone();
  const Zone zone = test::zone(zone_name);
  const DstPolicy dst = test::any_dst_policy();
  RC_LOG() << zone_name << ", gap " << to_string(dst.gap) << ", overlap " << to_string(dst.overlap) << '\n';

  Timetable::Options options;
  options.zone = zone;
  options.dst = dst;
  const auto made = Timetable::make(RruleTrigger{.rrule = any.rule, .start = any.start}, options);
  RC_ASSERT(made.has_value());
  std::set<Instant> expected = mapped(any, zone, dst);
  // Leave out the last days: what moves over the end is not in the list.
  const Instant end = Instant(any.end.time_since_epoch()) - 72h;
  std::erase_if(expected, [&](Instant t) { return t > end; });

  const Instant begin = Instant(any.start.time_since_epoch()) - 72h;
  std::vector<std::string> found;
  for (const Occurrence& o : walk(*made, begin, 5000)) {
    if (o.at > end) break;
    found.push_back(test::text_of(o.at));
  }
  std::vector<std::string> wanted;
  for (const Instant t : expected) wanted.push_back(test::text_of(t));
  RC_ASSERT(found == wanted);
  RC_ASSERT(made->count(begin, end) == wanted.size());
}

RC_GTEST_PROP(WallClockProperty, WhatFiresAndWhatIsSkippedTogetherIsWhatWasAskedFor, ()) {
  const WallCase any = any_wall_case();
  Timetable::Options options;
  options.zone = test::zone(test::any_zone());
  options.dst = {.gap = DstGap::skip, .overlap = DstOverlap::first};
  const auto made = Timetable::make(RruleTrigger{.rrule = any.rule, .start = any.start}, options);
  RC_ASSERT(made.has_value());

  const LocalSeconds end = any.end - 72h;
  const Instant begin = Instant(any.start.time_since_epoch()) - 72h;
  const Instant upto = Instant(any.end.time_since_epoch()) + 72h;
  std::vector<LocalSeconds> covered;
  for (const Occurrence& o : walk(*made, begin, 5000)) {
    if (o.local <= end) covered.push_back(o.local);
  }
  for (const Occurrence& o : made->skipped(begin, upto, 5000)) {
    if (o.local <= end) covered.push_back(o.local);
  }
  std::ranges::sort(covered);
  std::vector<LocalSeconds> asked = any.asked;
  std::erase_if(asked, [&](LocalSeconds t) { return t > end; });
  RC_ASSERT(covered == asked);
}

// ---- COUNT and UNTIL against the rule without them ---------------------------------------------------------------

RC_GTEST_PROP(RruleProperty, CountAndUntilCutTheSameSeries, ()) {
  const std::string rule = test::any_rrule({.ends = false});
  Timetable::Options options;
  options.zone = test::zone(test::any_zone());
  options.dst = test::any_dst_policy();
  const LocalSeconds start =
      test::local("2009-10-20T00:00:00") + std::chrono::days(draw(0, 6000)) + std::chrono::seconds(1800 * draw(0, 47));
  RC_LOG() << rule << " from " << format_local_seconds(start) << " in " << options.zone.name() << '\n';
  const auto endless = Timetable::make(RruleTrigger{.rrule = rule, .start = start}, options);
  if (!endless) RC_DISCARD("it never fires");
  const std::vector<Occurrence> walked = walk(*endless, kInstantMin, 60);

  const std::size_t count = draw<std::size_t>(1, walked.size());
  const auto counted =
      Timetable::make(RruleTrigger{.rrule = rule + ";COUNT=" + std::to_string(count), .start = start}, options);
  RC_ASSERT(counted.has_value());
  const std::vector<Occurrence> first = walk(*counted, kInstantMin, 100);
  RC_ASSERT(first.size() == count);
  RC_ASSERT(first.back().at == walked[count - 1].at);

  std::string until = test::text_of(walked[count - 1].at);
  std::erase_if(until, [](char c) { return c == '-' || c == ':'; });
  const auto cut = Timetable::make(RruleTrigger{.rrule = rule + ";UNTIL=" + until, .start = start}, options);
  RC_ASSERT(cut.has_value());
  const std::vector<Occurrence> before = walk(*cut, kInstantMin, 100);
  RC_ASSERT(before.size() == count);
  RC_ASSERT(before.back().at == walked[count - 1].at);
}

}  // namespace
}  // namespace carillon
