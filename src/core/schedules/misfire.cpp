#include "core/schedules/misfire.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace carillon {

namespace {

// The newest `most` late occurrences in (after, late_until] that are not older than the policy allows, oldest first.
std::vector<DueSlot> newest_late(const Timetable& timetable, Instant after, Instant late_until, std::uint32_t most) {
  std::vector<DueSlot> slots;
  for (auto found = timetable.newest(after, late_until); found && slots.size() < most;
       found = timetable.newest(after, found->at - Duration(1))) {
    slots.push_back({.occurrence = *found, .backfilled = true});
  }
  std::ranges::reverse(slots);
  return slots;
}

}  // namespace

std::string_view to_string(MisfireKind kind) {
  switch (kind) {
    case MisfireKind::latest: return "latest";
    case MisfireKind::skip: return "skip";
    case MisfireKind::all: return "all";
  }
  UNREACHABLE();
}

Result<MisfireKind> parse_misfire_kind(std::string_view text) {
  for (const MisfireKind kind : {MisfireKind::latest, MisfireKind::skip, MisfireKind::all}) {
    if (text == to_string(kind)) return kind;
  }
  return invalid_request(fmt::format("misfire policy {}: allowed are latest, skip, all", quoted(text)));
}

Result<void> check_misfire(const MisfirePolicy& policy, OverlapPolicy overlap) {
  if (policy.max < 1 || policy.max > kMisfireMaxMax) {
    return invalid_request(fmt::format("misfire max must be 1 to {}, not {}", kMisfireMaxMax, policy.max));
  }
  if (policy.grace < Duration(0) || (policy.max_age && *policy.max_age < Duration(0))) {
    return invalid_request("misfire grace and max_age cannot be negative");
  }
  if (policy.kind == MisfireKind::all && overlap != OverlapPolicy::allow) {
    return invalid_configuration(fmt::format(
        "misfire policy all makes several jobs at once and goes only with overlap allow, not {}", to_string(overlap)));
  }
  return {};
}

DuePlan plan_due(const Timetable& timetable, Instant after, Instant now, const MisfirePolicy& policy) {
  DuePlan plan{.run = {}, .missed = {}, .planned_until = std::max(after, now)};
  if (after >= now) return plan;

  const Instant late_until = std::max(after, now - policy.grace - Duration(1));
  const auto on_time = timetable.next(late_until);
  const bool any_on_time = on_time && on_time->at <= now;

  std::uint32_t late_max = 0;
  if (policy.kind == MisfireKind::latest && !any_on_time) late_max = 1;
  if (policy.kind == MisfireKind::all) late_max = policy.max;
  Instant oldest = after;
  if (policy.kind == MisfireKind::all && policy.max_age) oldest = std::max(after, now - *policy.max_age - Duration(1));
  plan.run = newest_late(timetable, oldest, late_until, late_max);

  // All that is due before the first one that runs is missed.
  const Instant missed_until = plan.run.empty() ? late_until : plan.run.front().occurrence.at - Duration(1);
  if (const auto last = timetable.newest(after, missed_until)) {
    plan.missed =
        MissedRange{.first = *timetable.next(after), .last = last->at, .count = timetable.count(after, missed_until)};
  }

  // More than one may be on time (every second, and a tick late by three): each of those runs.
  for (auto found = on_time; found && found->at <= now; found = timetable.next(found->at)) {
    if (plan.run.size() >= kDueSlotsMax) {
      plan.planned_until = plan.run.back().occurrence.at;
      break;
    }
    plan.run.push_back({.occurrence = *found, .backfilled = false});
  }
  return plan;
}

}  // namespace carillon
