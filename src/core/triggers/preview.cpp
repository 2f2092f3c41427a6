#include "core/triggers/preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "core/triggers/trigger_kind.h"

namespace carillon {

std::vector<PreviewItem> preview(const Timetable& timetable, Instant from, std::size_t count) {
  std::vector<PreviewItem> items;
  Instant after = from == kInstantMin ? from : from - Duration(1);
  while (items.size() < count) {
    const auto found = timetable.next(after);
    // Past the last occurrence a skipped one may still follow; a year ahead is far enough to show it.
    const Instant upto = found ? found->at : add_clamped(after, std::chrono::days(366));
    for (const Occurrence& lost : timetable.skipped(after, upto, count - items.size())) {
      items.push_back({.at = {}, .asked = lost.local, .note = lost.note});
    }
    if (!found || items.size() == count) break;
    items.push_back({.at = found->at, .asked = found->local, .note = found->note});
    after = found->at;
  }
  return items;
}

namespace {

// A subject that is far back has so much to make up for before its first time that is ahead.
constexpr std::size_t kStepsBehindMax = 100;

// The planner itself, on a clock that jumps to each time.
std::vector<PreviewItem> preview_plans(PlanFacts facts, Instant behind, std::size_t count, Stands stands) {
  std::vector<PreviewItem> items;
  facts.open.clear();
  facts.open_windows = 0;
  const auto go_on = [&](const SubjectPlan& plan) {
    for (const NewJob& job : plan.jobs) {
      const OccurrenceKey& key = *job.occurrence;
      if (items.size() == count) return;
      const Instant at = std::max(facts.next_at.value_or(facts.now), facts.now);
      if (at <= behind) continue;
      items.push_back({.at = at, .asked = facts.zone.to_local(key.slot)});
      if (!key.until) continue;
      items.back().begin = key.slot;
      items.back().end = key.until;
    }
    facts.position = plan.position;
    facts.next_at = plan.next_at;
    if (plan.cursor) facts.cursor = plan.cursor;
  };
  using What = SubjectChange::What;
  if (stands == Stands::still) facts.next_at.reset();
  if (!facts.next_at) {
    go_on(anchor_subject(facts, {.what = stands == Stands::still ? What::resumed : What::edited, .at = facts.now}));
  }
  // Each step but those that find too much to do at once yields an item.
  for (std::size_t i = 0; i < (2 * count) + kStepsBehindMax && facts.next_at && items.size() < count; ++i) {
    facts.now = std::max(facts.now, *facts.next_at);
    go_on(plan_subject(facts));
  }
  return items;
}

// Of kinds that plan each subject on its own terms.
std::vector<PreviewItem> preview_subject(PlanFacts facts, Instant behind, std::size_t count, Stands stands) {
  const TriggerKind& kind = kind_of(facts.schedule.trigger);
  return kind.preview ? kind.preview(facts, behind, count) : preview_plans(std::move(facts), behind, count, stands);
}

}  // namespace

std::vector<PreviewItem> preview(PlanFacts facts, std::size_t count, Stands stands) {
  if (!std::exchange(facts.overrides.enabled, true)) stands = Stands::still;
  const Instant behind = facts.now;
  if (!plans_by_subject(facts.schedule.trigger)) {
    return facts.timetable ? preview(*facts.timetable, add_clamped(behind, Duration(1)), count)
                           : std::vector<PreviewItem>();
  }
  return preview_subject(std::move(facts), behind, count, stands);
}

Result<std::vector<PreviewItem>> preview(const Trigger& trigger, Timetable::Options options, Instant from,
                                         std::size_t count) {
  if (!plans_by_subject(trigger)) {
    TRY_ASSIGN(const Timetable timetable, Timetable::make(trigger, std::move(options)));
    return preview(timetable, from, count);
  }
  const std::string_view both_is_refused = kind_of(trigger).refused.dst_overlap_both;
  if (!both_is_refused.empty() && options.dst.overlap == DstOverlap::both) {
    return invalid_configuration(fmt::format("dst.overlap: {}", both_is_refused));
  }
  Schedule schedule;
  schedule.name = "preview";
  schedule.trigger = trigger;
  schedule.dst = options.dst;
  schedule.starts_at = options.starts_at;
  schedule.ends_at = options.ends_at;
  schedule.exclude_dates = options.exclude_dates;
  PlanFacts facts{.tenant = "default", .schedule = schedule, .now = from, .zone = options.zone};
  const Instant behind = from == kInstantMin ? from : from - Duration(1);
  return preview_subject(std::move(facts), behind, count, Stands::as_it_is);
}

std::string to_json(const PreviewItem& item, const Zone& zone) {
  const std::string note = item.note == DstNote::none ? "null" : fmt::format("\"{}\"", to_string(item.note));
  const std::string local =
      item.at ? format_with_offset(*item.at, zone.offset_at(*item.at)) : format_local_seconds(item.asked);
  std::string text = fmt::format(R"({{"at": {}, "local": "{}", "note": {})",
                                 item.at ? fmt::format("\"{}\"", format_instant(*item.at)) : "null", local, note);
  if (item.day) {
    text += fmt::format(R"(, "day": "{}", "cutoff": {})", format_date(*item.day),
                        item.end ? fmt::format("\"{}\"", format_instant(*item.end)) : "null");
  } else if (item.begin && item.end) {
    text += fmt::format(R"(, "window_start": "{}", "window_end": "{}")", format_instant(*item.begin),
                        format_instant(*item.end));
  }
  return text + "}";
}

}  // namespace carillon
