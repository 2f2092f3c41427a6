// windows: one job for each span of time, once it is over. (S3)
#include "core/kinds/windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/json_writer.h"
#include "base/mutant.h"
#include "core/jobs/job_fields.h"
#include "core/kinds/kind_fields.h"
#include "core/policies/jitter.h"
#include "core/triggers/preview.h"
#include "core/triggers/trigger_kind.h"

namespace carillon {

namespace {

Duration interval_of(const PlanFacts& facts, const WindowsTrigger& trigger) {
  return facts.overrides.interval.value_or(trigger.interval);
}

const std::string& mode_of(const PlanFacts& facts, const WindowsTrigger& trigger) {
  return facts.overrides.mode ? *facts.overrides.mode : trigger.mode;
}

std::size_t most_open(const WindowsTrigger& trigger) {
  return trigger.max_backfill.value_or(WindowDefaults{}.max_backfill);
}

// How many windows from `planned_end` on end by then, or before it.
std::int64_t windows_until(Instant planned_end, Duration interval, Instant until) {
  return until < planned_end ? 0 : (until - planned_end) / interval;
}

Instant last_end(const Schedule& schedule) { return std::min(schedule.ends_at.value_or(kInstantMax), kInstantMax); }

struct WindowFacts {
  Window window;
  std::string_view trigger;
  bool backfilled = false;
};

std::string with_window(std::string_view payload, const WindowFacts& about, const std::string& mode) {
  JsonObject fields;
  fields.text("window_start", format_exact(about.window.start)).text("window_end", format_exact(about.window.end));
  if (mode.empty()) {
    fields.raw("mode", "null");
  } else {
    fields.text("mode", mode);
  }
  fields.text("trigger", about.trigger).boolean("backfilled", about.backfilled);
  return merge_payload(payload, fields.str());
}

std::string key_of(const PlanFacts& facts, const WindowsTrigger& trigger, const Window& window) {
  return window_key({.tenant = facts.tenant,
                     .schedule = facts.schedule.name,
                     .subject = facts.subject,
                     .window = window,
                     .mode = mode_of(facts, trigger)});
}

NewJob job_of_window(const PlanFacts& facts, const WindowsTrigger& trigger, const Window& window) {
  const Schedule& schedule = facts.schedule;
  const Instant due = add_clamped(window.end, trigger.lag);
  const bool backfilled = facts.now - due > schedule.misfire.grace;
  NewJob job = job_of_subject(schedule.job, facts.tenant, facts.overrides);
  if (backfilled && !schedule.job.priority && !facts.overrides.priority) job.priority = kPriorityBackfilled;
  job.payload = with_window(job.payload, {.window = window, .trigger = "scheduled", .backfilled = backfilled},
                            mode_of(facts, trigger));
  job.options.origin = Origin::scheduled;
  job.options.key = key_of(facts, trigger, window);
  const JitterKey key{
      .tenant = facts.tenant, .schedule = schedule.name, .subject = facts.subject, .slot = window.start};
  job.run_at = add_clamped(due, jitter_of(key, schedule.jitter));
  job.occurrence = OccurrenceKey{.schedule = schedule.name,
                                 .subject = std::string(facts.subject),
                                 .slot = window.start,
                                 .until = window.end,
                                 .local_minute = local_minute_of(facts.zone.to_local(window.start))};
  return job;
}

ClosedOccurrences missed_windows(const PlanFacts& facts, const Window& range, Duration interval,
                                 std::string_view reason) {
  // The last one may be cut: the cursor was set into it.
  const std::int64_t count = (range.end - range.start + interval - Duration(1)) / interval;
  ClosedOccurrences closed{.first = range.start,
                           .until = range.end,
                           .count = count,
                           .outcome = JobState::missed,
                           .reason = std::string(reason),
                           .local_minute = local_minute_of(facts.zone.to_local(range.start))};
  if (count == 1) return closed;
  // The starts of windows are such a series.
  const EveryTrigger starts{.every = interval, .anchor = range.start};
  if (const auto timetable = Timetable::make(starts, {.zone = facts.zone, .dst = {}, .created_at = range.start})) {
    spread_closed(closed, *timetable, range.end - Duration(1), facts.now);
  }
  return closed;
}

// Nothing while as many are open as may be: the end of one of them gives the next a time.
std::optional<Instant> next_time(const PlanFacts& facts, const WindowsTrigger& trigger, Instant planned_end,
                                 std::size_t open) {
  const Duration interval = interval_of(facts, trigger);
  if (!facts.overrides.enabled || open >= most_open(trigger)) return std::nullopt;
  if (planned_end > last_end(facts.schedule) - interval) return std::nullopt;
  const Instant due = up_to_millisecond(add_clamped(planned_end + interval, trigger.lag));
  return facts.schedule.starts_at ? std::max(due, *facts.schedule.starts_at) : due;
}

// One before now, cut to the minute; after what an earlier life of the subject has covered.
Instant initial_end(const PlanFacts& facts, Duration interval, Instant at) {
  Instant end = add_clamped(std::chrono::floor<std::chrono::minutes>(at), -interval);
  if (facts.schedule.starts_at) end = std::max(end, *facts.schedule.starts_at);
  if (facts.position && *facts.position >= end) {
    end = std::chrono::ceil<std::chrono::minutes>(*facts.position + Duration(1));
  }
  return end;
}

// Without a cursor nothing was planned yet: the position belongs to an earlier life.
std::optional<Instant> planned_end_in(const PlanFacts& facts) {
  return facts.cursor ? planned_end_of(facts.position) : std::nullopt;
}

Result<const WindowsTrigger*> windows_of(const Schedule& schedule) {
  if (const auto* trigger = std::get_if<WindowsTrigger>(&schedule.trigger)) return trigger;
  return invalid_configuration(fmt::format("schedule {} is of the kind {} and has no windows", quoted(schedule.name),
                                           kind_of(schedule.trigger).name));
}

std::string in_words(const Window& window) {
  return fmt::format("from {} to {}", format_exact(window.start), format_exact(window.end));
}

}  // namespace

Instant position_of_planned_end(Instant planned_end) { return planned_end - Duration(1); }

std::optional<Instant> planned_end_of(std::optional<Instant> position) {
  return position ? std::optional(*position + Duration(1)) : std::nullopt;
}

Result<void> check_cursor(const PlanFacts& facts, Instant cursor_end) {
  if (!facts.cursor || cursor_end == *facts.cursor) return {};
  if (cursor_end < *facts.cursor) {
    return failed(ErrorCode::conflict,
                  fmt::format("cursor_end of {} stands at {} and may only be raised, not set to {}",
                              quoted(facts.subject), format_exact(*facts.cursor), format_exact(cursor_end)));
  }
  const std::optional<Instant> planned = planned_end_of(facts.position);
  if (planned && cursor_end < *planned) {
    return failed(
        ErrorCode::conflict,
        fmt::format("cursor_end of {} cannot be set to {}: windows up to {} have jobs, and move it themselves",
                    quoted(facts.subject), format_exact(cursor_end), format_exact(*planned)));
  }
  return {};
}

std::string window_key(const WindowName& name) {
  const auto stamp = [](Instant at) {
    const auto second = std::chrono::floor<std::chrono::seconds>(at);
    std::string text = format_local_seconds(LocalSeconds(second.time_since_epoch()));
    std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
    return text + "Z";
  };
  std::string key = fmt::format("run_window_{}_{}_{}_{}_{}", name.tenant, name.schedule, name.subject,
                                stamp(name.window.start), stamp(name.window.end));
  if (!name.mode.empty()) key += fmt::format("_{}", name.mode);
  return key;
}

Result<NewJob> manual_window(const PlanFacts& facts, const Window& window, JobId id,
                             const std::optional<std::string>& payload, std::optional<int> priority) {
  TRY_ASSIGN(const WindowsTrigger* const trigger, windows_of(facts.schedule));
  if (window.end <= window.start) {
    return invalid_request(
        fmt::format("the window {} is empty: window_end must lie after window_start", in_words(window)));
  }
  if (payload && !payload->starts_with('{') && *payload != "null") {
    return invalid_request("payload: expected an object, to which the window can be added");
  }
  NewJob job = manual_job(facts.tenant, facts.schedule, facts.subject, payload, priority, facts.overrides);
  job.id = id;
  job.options.beside->slot = window.start;
  job.payload = with_window(job.payload, {.window = window, .trigger = "manual"}, mode_of(facts, *trigger));
  job.options.key = fmt::format("{}_manual_{}", key_of(facts, *trigger, window), format_job_id(id));
  return job;
}

Result<std::vector<Window>> backfill_windows(const PlanFacts& facts, const Window& range) {
  TRY_ASSIGN(const WindowsTrigger* const trigger, windows_of(facts.schedule));
  const Duration interval = interval_of(facts, *trigger);
  if (range.end <= range.start) {
    return invalid_request(fmt::format("the range {} is empty: to must lie after from", in_words(range)));
  }
  if (range.end > facts.now) {
    return invalid_configuration(fmt::format("the range {} is not over yet", in_words(range)));
  }
  if ((range.end - range.start) % interval != Duration(0)) {
    return invalid_configuration(
        fmt::format("the range {} is no whole number of windows of {}", in_words(range), format_duration(interval)));
  }
  const std::int64_t count = (range.end - range.start) / interval;
  if (count > static_cast<std::int64_t>(kBackfillMax)) {
    return invalid_configuration(fmt::format("the range {} has {} windows of {}; at most {} are made at once",
                                             in_words(range), count, format_duration(interval), kBackfillMax));
  }
  std::vector<Window> windows;
  for (Instant start = range.start; start < range.end; start += interval) {
    windows.push_back({.start = start, .end = start + interval});
  }
  return windows;
}

std::size_t most_open_windows(const Schedule& schedule) {
  return most_open(std::get<WindowsTrigger>(schedule.trigger));
}

namespace {

// ---- Read -------------------------------------------------------------------------------------------------------

constexpr auto kWindowsFields = field_names("kind", "interval", "lag", "max_backfill", "max_age", "mode");
constexpr auto kWindowsSubjectFields = field_names("interval", "mode", "cursor_end");

Result<Trigger> read_windows(std::string_view text, const JsonFields& fields) {
  WindowsTrigger trigger;
  TRY_ASSIGN(trigger.interval, required_duration(text, fields, "interval"));
  TRY(check_bounds(fields, "interval", trigger.interval, {.min = kEveryMin}));
  TRY(read_bounded(text, fields, "lag", {}, trigger.lag));
  if (fields.optional("max_backfill") != nullptr) {
    TRY_ASSIGN(const std::int64_t most, fields.integer("max_backfill", {1, kMaxBackfillMax}));
    trigger.max_backfill = static_cast<std::uint32_t>(most);
  }
  TRY(read_bounded(text, fields, "max_age", {}, trigger.max_age));
  if (trigger.max_age && *trigger.max_age <= trigger.lag) {
    return cannot_work(
        fields.fail(*fields.optional("max_age"), "max_age",
                    fmt::format("must be longer than the lag of {}: no window is due before that, so none could run",
                                format_duration(trigger.lag))));
  }
  TRY_ASSIGN(const Json* const mode, fields.optional("mode", JsonType::string));
  if (mode != nullptr) {
    if (const auto checked = check_name("mode", mode->text); !checked) {
      return fields.fail(*mode, "mode", checked.error().message);
    }
    trigger.mode = mode->text;
  }
  return trigger;
}

Result<Trigger> read_windows_text(std::string_view text) {
  WindowsTrigger trigger;
  TRY_ASSIGN(trigger.interval, parse_interval(text));
  return trigger;
}

Result<void> check_windows_job(const JsonFields& fields, const Json& job, const JobTemplate& read) {
  if (read.payload == "null" || read.payload.starts_with('{')) return {};
  return cannot_work(
      fields.fail(*job.find("payload"), "job.payload", "must be an object, to which the window can be added"));
}

Result<void> check_shortest_window(const Trigger& trigger, const WindowDefaults& defaults) {
  const Duration interval = std::get<WindowsTrigger>(trigger).interval;
  if (interval >= defaults.min_window) return {};
  return invalid_configuration(fmt::format("trigger.interval: {} is below the shortest window, {}",
                                           format_duration(interval), format_duration(defaults.min_window)));
}

void fill_windows(Trigger& trigger, const WindowDefaults& defaults) {
  auto& windows = std::get<WindowsTrigger>(trigger);
  if (!windows.max_backfill) windows.max_backfill = defaults.max_backfill;
}

// ---- Plan -------------------------------------------------------------------------------------------------------

std::optional<Duration> shortest_window(const Trigger& trigger) { return std::get<WindowsTrigger>(trigger).interval; }

// A subject without a cursor gets one: a window before `change.at`, cut to the minute; or change.cursor_end.
SubjectPlan anchor_windows(const PlanFacts& facts, const SubjectChange& change) {
  const auto& trigger = std::get<WindowsTrigger>(facts.schedule.trigger);
  SubjectPlan plan;
  plan.position = facts.position;
  const Duration interval = interval_of(facts, trigger);
  std::optional<Instant> end = planned_end_in(facts);
  if (mutant(Mutant::mode_edit_reruns_window) && end && change.what == SubjectChange::What::edited) {
    // As if the mode were part of the window's identity: then the position does not cover it.
    const std::string& mode = mode_of(facts, trigger);
    NewJob again = job_of_window(facts, trigger, {.start = *end - interval, .end = *end});
    again.occurrence->slot = *end + Duration(1 + static_cast<std::int64_t>(scale_hash(stable_hash({mode}), 998)));
    plan.jobs.push_back(std::move(again));
  }
  std::size_t open = facts.open_windows;
  if (change.cursor_end && (!end || *change.cursor_end >= *end)) {
    open = 0;  // they lie before it: nothing waits for them any more
    if (end && *change.cursor_end > *end) {
      plan.closed.push_back(
          missed_windows(facts, {.start = *end, .end = *change.cursor_end}, interval, kReasonCursorSet));
    }
    end = plan.cursor = *change.cursor_end;
  } else if (!end && facts.overrides.enabled && facts.schedule.enabled) {
    end = plan.cursor = initial_end(facts, interval, change.at);
  }
  if (!end) return plan;
  const Instant position = position_of_planned_end(*end);
  plan.position = facts.position ? std::max(*facts.position, position) : position;
  plan.next_at = next_time(facts, trigger, *end, open);
  return plan;
}

SubjectPlan plan_windows(const PlanFacts& facts) {
  const auto& trigger = std::get<WindowsTrigger>(facts.schedule.trigger);
  const std::optional<Instant> planned = planned_end_in(facts);
  if (!planned) return anchor_windows(facts, {.what = SubjectChange::What::made, .at = facts.now});
  SubjectPlan plan;
  Instant end = *planned;
  std::size_t open = facts.open_windows;
  const Duration interval = interval_of(facts, trigger);
  const bool begun = !facts.schedule.starts_at || *facts.schedule.starts_at <= facts.now;
  if (begun && trigger.max_age) {
    const Instant oldest = add_clamped(facts.now, -*trigger.max_age) - Duration(1);
    if (const auto aged = windows_until(end, interval, std::min(oldest, last_end(facts.schedule))); aged > 0) {
      const Window range{.start = end, .end = end + aged * interval};
      plan.closed.push_back(missed_windows(facts, range, interval, kReasonMaxAge));
      end = range.end;
    }
  }
  if (begun) {
    const Instant over = std::min(add_clamped(facts.now, -trigger.lag), last_end(facts.schedule));
    for (; open < most_open(trigger) && windows_until(end, interval, over) > 0; ++open, end += interval) {
      plan.jobs.push_back(job_of_window(facts, trigger, {.start = end, .end = end + interval}));
    }
  }
  plan.position = position_of_planned_end(end);
  plan.next_at = next_time(facts, trigger, end, open);
  return plan;
}

// ---- Explain ----------------------------------------------------------------------------------------------------

std::optional<std::string> explain_open_window(const OpenSlot& slot) {
  if (!slot.until) return std::nullopt;
  return fmt::format("the window from {} to {}", format_instant(slot.slot), format_instant(*slot.until));
}

std::optional<KindWord> explain_next_window(const SubjectNow& now) {
  const PreviewItem* const next = now.next;
  if (next == nullptr || !next->begin || !next->end) return std::nullopt;
  KindWord word{.summary = fmt::format("next: the window from {} to {}, at {}", format_instant(*next->begin),
                                       format_instant(*next->end), format_instant(now.next_at))};
  word.detail.text("window_start", format_instant(*next->begin)).text("window_end", format_instant(*next->end));
  return word;
}

std::optional<KindWord> explain_full(const Trigger& trigger, std::size_t open) {
  const std::size_t most = std::get<WindowsTrigger>(trigger).max_backfill.value_or(0);
  if (most == 0 || open < most) return std::nullopt;
  KindWord word{.summary = fmt::format("{} windows are open, as many as may be: the next one is planned when one of "
                                       "them closes",
                                       open),
                .why = "max_backfill"};
  word.detail.integer("open_windows", static_cast<std::int64_t>(open));
  return word;
}

}  // namespace

const TriggerKind& WindowsTrigger::kind() {
  static const TriggerKind row{
      .name = "windows",
      .traits = {.plans_by_subject = true, .has_subjects = true, .has_windows = true, .keeps_cursor = true},
      .fields = kWindowsFields,
      .read = read_windows,
      .shown_field = "interval",
      .example = "windows:1h",
      .means = "spans of time, each when it is over",
      .read_text = read_windows_text,
      .refused = {.misfire_but_grace = "windows know only the grace; see max_backfill and max_age of the trigger",
                  .overlap = "it has a rule of its own",
                  .exclude_dates = "it does not go by dates"},
      .subject_fields = kWindowsSubjectFields,
      .check_job = check_windows_job,
      .check_defaults = check_shortest_window,
      .fill = fill_windows,
      .shortest_period = shortest_window,
      .plan = plan_windows,
      .anchor = anchor_windows,
      .explain_open = explain_open_window,
      .explain_next = explain_next_window,
      .explain_no_time = explain_full};
  return row;
}

}  // namespace carillon
