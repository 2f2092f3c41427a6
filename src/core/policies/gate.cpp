#include "core/policies/gate.h"

#include <algorithm>
#include <vector>

#include "base/hash.h"

namespace carillon {

namespace {

using std::chrono::days;
using std::chrono::seconds;

// Quiet hours that matter at an instant began on one of these days around it. Hours last less than a day, but a clock
// change can move local time by a day, and hours that touch are followed to their common end.
constexpr days kDaysBehind{4};
constexpr days kDaysAhead{5};
// Hours of one weekday return within a week, or two where a zone skipped that day.
constexpr days kDaysAheadOfNext{16};

// Just beyond the calendar, but not so far that a zone could not tell.
constexpr LocalDays kDayFirst{std::chrono::floor<days>(kInstantMin.time_since_epoch()) - days(2)};
constexpr LocalDays kDayLast{std::chrono::floor<days>(kInstantMax.time_since_epoch()) + days(2)};

// Closed from `begin` on, open again at `end`.
struct Span {
  Instant begin;
  Instant end;
};

struct DayRange {
  LocalDays first;
  LocalDays last;
};

bool begins_on(const QuietHours& quiet, LocalDays day) {
  return quiet.days.empty() || std::ranges::find(quiet.days, weekday_of(day)) != quiet.days.end();
}

// The instant from which on the clock never again shows a time before `end`, had it not skipped any.
UnixSeconds last_end(const Zone& zone, const Zone::Mapping& end) {
  // Set back exactly to the end, the clock shows no quiet time a second time.
  const bool set_back_to_it = zone.stretch_at(end.second).begin == end.second;
  return end.kind == Zone::Mapping::Kind::overlap && !set_back_to_it ? end.second : end.first;
}

// The hours that begin on `day`; nothing if a clock change skips them whole.
std::optional<Span> span_of(const QuietHours& quiet, const Zone& zone, LocalDays day) {
  using Kind = Zone::Mapping::Kind;
  const LocalDays end_day = quiet.start < quiet.end ? day : day + days(1);
  const Zone::Mapping start = zone.resolve(day + seconds(quiet.start.seconds));
  const Zone::Mapping end = zone.resolve(end_day + seconds(quiet.end.seconds));
  if (start.kind != Kind::gap) return Span{.begin = start.first, .end = last_end(zone, end)};
  const UnixSeconds change = zone.stretch_at(start.first).begin;
  const bool ends_in_it = end.kind == Kind::gap && zone.stretch_at(end.first).begin == change;
  const bool ends_with_it = end.first == change;
  if (ends_in_it || ends_with_it) return std::nullopt;
  return Span{.begin = change, .end = last_end(zone, end)};
}

// The hours that begin on these days, in order; those that touch are one.
std::vector<Span> spans_within(const QuietHours& quiet, const Zone& zone, DayRange range) {
  std::vector<Span> spans;
  for (LocalDays day = std::max(range.first, kDayFirst); day <= std::min(range.last, kDayLast); day += days(1)) {
    if (!begins_on(quiet, day)) continue;
    const std::optional<Span> span = span_of(quiet, zone, day);
    if (!span) continue;
    if (!spans.empty() && span->begin <= spans.back().end) {
      spans.back().end = std::max(spans.back().end, span->end);
    } else {
      spans.push_back(*span);
    }
  }
  return spans;
}

Instant in_calendar(Instant now) { return std::clamp(now, kInstantMin, kInstantMax); }

LocalDays local_day(const Zone& zone, Instant now) { return std::chrono::floor<days>(zone.to_local(now)); }

bool holds_longer(const Closing& one, const Closing& other) {
  if (!one.until || !other.until) return !one.until && other.until;
  return *one.until > *other.until;
}

}  // namespace

std::optional<Closing> maintenance_at(const std::optional<Maintenance>& maintenance, Instant now) {
  if (!maintenance || (maintenance->until && *maintenance->until <= now)) return std::nullopt;
  return Closing{.reason = "maintenance", .until = maintenance->until};
}

std::optional<Closing> quiet_at(const QuietHours& quiet, const Zone& zone, Instant now) {
  now = in_calendar(now);
  const LocalDays today = local_day(zone, now);
  for (const Span& span : spans_within(quiet, zone, {.first = today - kDaysBehind, .last = today + kDaysAhead})) {
    if (span.begin <= now && now < span.end) {
      return Closing{.reason = "quiet_hours", .until = std::min(span.end, kInstantMax)};
    }
  }
  return std::nullopt;
}

std::optional<Instant> quiet_since(const QuietHours& quiet, const Zone& zone, Instant now) {
  now = in_calendar(now);
  const LocalDays today = local_day(zone, now);
  for (const Span& span : spans_within(quiet, zone, {.first = today - kDaysBehind, .last = today + kDaysAhead})) {
    if (span.begin <= now && now < span.end) return span.begin;
  }
  return std::nullopt;
}

std::optional<Instant> quiet_changes_after(const QuietHours& quiet, const Zone& zone, Instant now) {
  now = in_calendar(now);
  const LocalDays today = local_day(zone, now);
  for (const Span& span : spans_within(quiet, zone, {.first = today - kDaysBehind, .last = today + kDaysAheadOfNext})) {
    for (const Instant change : {span.begin, span.end}) {
      if (change > now) return change <= kInstantMax ? std::optional(change) : std::nullopt;
    }
  }
  return std::nullopt;
}

Zone quiet_zone(const QuietHours& quiet, const Zone& tenant_zone) {
  if (!quiet.timezone) return tenant_zone;
  // It could be loaded when it was set. Should the database have lost it since, the tenant's is the nearest guess.
  return Zone::load(*quiet.timezone).value_or(tenant_zone);
}

std::optional<Closing> closed_for(const GateFacts& facts, bool notifies, Instant now) {
  std::optional<Closing> longest;
  const auto consider = [&](std::optional<Closing> closing) {
    if (closing && (!longest || holds_longer(*closing, *longest))) longest = std::move(closing);
  };
  consider(maintenance_at(facts.maintenance_for_all, now));
  consider(maintenance_at(facts.maintenance, now));
  if (notifies && facts.settings != nullptr && facts.settings->quiet_hours) {
    const QuietHours& quiet = *facts.settings->quiet_hours;
    consider(quiet_at(quiet, quiet_zone(quiet, facts.tenant_zone), now));
  }
  return longest;
}

Duration release_delay(JobId job) {
  const std::uint64_t hash = stable_hash({"release", std::to_string(job.value)});
  const auto spread = static_cast<std::uint64_t>(kReleaseSpread.count());
  return up_to_millisecond(Duration(static_cast<std::int64_t>(scale_hash(hash, spread))));
}

}  // namespace carillon
