#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/nearest_name.h"
#include "core/job_fields.h"
#include "core/trigger.h"

namespace carillon {

namespace {

struct KindOfTrigger {
  std::string_view name;
  JsonFields::Names fields;
};

constexpr auto kOnceFields = field_names("kind", "at");
constexpr auto kEveryFields = field_names("kind", "every", "anchor");
constexpr auto kDailyFields = field_names("kind", "at");
constexpr auto kWeeklyFields = field_names("kind", "on", "at");
constexpr auto kCronFields = field_names("kind", "cron");
constexpr auto kRruleFields = field_names("kind", "rrule", "start");
constexpr auto kAfterFields = field_names("kind", "schedule", "on");
constexpr auto kDeliveryFields = field_names("kind", "due", "window", "retry_delay", "spread");
constexpr auto kWindowsFields = field_names("kind", "interval", "lag", "max_backfill", "max_age", "mode");
constexpr auto kAdaptiveFields = field_names("kind", "bands", "otherwise", "floor", "ceiling");
constexpr auto kBandFields = field_names("within", "every");

constexpr std::array<KindOfTrigger, 10> kTriggerKinds{{{"once", kOnceFields},
                                                       {"every", kEveryFields},
                                                       {"daily", kDailyFields},
                                                       {"weekly", kWeeklyFields},
                                                       {"cron", kCronFields},
                                                       {"rrule", kRruleFields},
                                                       {"after", kAfterFields},
                                                       {"delivery", kDeliveryFields},
                                                       {"windows", kWindowsFields},
                                                       {"adaptive", kAdaptiveFields}}};

// S1's own frequencies.
constexpr auto kS1OnceFields = field_names("type", "scheduled_for", "at");
constexpr auto kS1DailyFields = field_names("type", "hour", "minute");
constexpr auto kS1WeeklyFields = field_names("type", "day", "hour", "minute");
constexpr auto kS1HoursFields = field_names("type", "hours");

constexpr std::array<KindOfTrigger, 4> kS1Types{{{"once", kS1OnceFields},
                                                 {"daily", kS1DailyFields},
                                                 {"weekly", kS1WeeklyFields},
                                                 {"every_n_hours", kS1HoursFields}}};

// Reads a text of its own kind (a time, a duration) out of a JSON string, and says where in the document it stood.
template <typename T>
Result<T> read_text(std::string_view text, const Json& value, const std::string& path,
                    Result<T> (*parse)(std::string_view)) {
  if (value.type != JsonType::string) {
    return json_error(text, value.offset, path, fmt::format("expected a string, found {}", describe(value.type)));
  }
  auto parsed = parse(value.text);
  if (!parsed) return json_error(text, value.offset, path, parsed.error().message);
  return parsed;
}

template <typename T>
Result<T> required_text(std::string_view text, const JsonFields& fields, std::string_view name,
                        Result<T> (*parse)(std::string_view)) {
  TRY_ASSIGN(const Json* value, fields.required(name, JsonType::string));
  return read_text(text, *value, fields.path_of(name), parse);
}

Result<Duration> required_duration(std::string_view text, const JsonFields& fields, std::string_view name,
                                   Result<Duration> (*parse)(std::string_view) = parse_duration) {
  const Json* const value = fields.optional(name);
  if (value == nullptr) return fields.missing(name, "a duration like \"90s\"");
  if (value->type != JsonType::string) return read_json_duration(text, *value, fields.path_of(name));
  return read_text(text, *value, fields.path_of(name), parse);
}

Result<Weekday> parse_day(std::string_view text) {
  TextCursor cursor("day", text);
  TRY_ASSIGN(const Weekday day, parse_weekday(cursor));
  if (!cursor.at_end()) return cursor.expected("the end after the day's name");
  return day;
}

Result<Trigger> once(std::string_view text, const JsonFields& fields) {
  if (const Json* at = fields.optional("at")) {
    TRY_ASSIGN(const Instant instant, read_json_instant(text, *at, fields.path_of("at")));
    return OnceTrigger{.at = instant};
  }
  return fields.missing("at", "an instant as RFC 3339 or Unix milliseconds");
}

Result<Trigger> every(std::string_view text, const JsonFields& fields) {
  EveryTrigger trigger;
  TRY_ASSIGN(trigger.every, required_duration(text, fields, "every", parse_interval));
  if (const Json* anchor = fields.optional("anchor")) {
    TRY_ASSIGN(trigger.anchor, read_json_instant(text, *anchor, fields.path_of("anchor")));
  }
  return trigger;
}

Result<Trigger> weekly(std::string_view text, const JsonFields& fields) {
  WeeklyTrigger trigger;
  TRY_ASSIGN(const Json* on, fields.required("on", JsonType::array));
  for (std::size_t i = 0; i < on->items.size(); ++i) {
    TRY_ASSIGN(const Weekday day,
               read_text(text, on->items[i], fmt::format("{}[{}]", fields.path_of("on"), i), parse_day));
    trigger.on.push_back(day);
  }
  if (trigger.on.empty()) return fields.fail(*on, "on", "expected at least one day name");
  TRY_ASSIGN(trigger.at, required_text(text, fields, "at", parse_time_of_day));
  return trigger;
}

Result<Trigger> rrule(std::string_view text, const JsonFields& fields) {
  RruleTrigger trigger;
  TRY_ASSIGN(trigger.rrule, fields.string("rrule"));
  if (const Json* start = fields.optional("start")) {
    TRY_ASSIGN(trigger.start, read_json_given_time(text, *start, fields.path_of("start")));
  }
  return trigger;
}

Result<Trigger> after(const JsonFields& fields) {
  AfterTrigger trigger;
  TRY_ASSIGN(trigger.schedule, fields.string("schedule"));
  TRY_ASSIGN(const Json* on, fields.optional("on", JsonType::string));
  if (on != nullptr && on->text != "done") return fields.fail(*on, "on", "the only value is \"done\"");
  return trigger;
}

struct Bounds {
  Duration min{};
  Duration max = kDurationMax;
};

// Refuses a duration outside of its bounds. `name` was read from `fields`.
Result<void> check_bounds(const JsonFields& fields, std::string_view name, Duration duration, Bounds bounds) {
  if (duration >= bounds.min && duration <= bounds.max) return {};
  return cannot_work(fields.fail(
      *fields.optional(name), name,
      bounds.max == kDurationMax
          ? fmt::format("must be at least {}, not {}", format_duration(bounds.min), format_duration(duration))
          : fmt::format("must lie between {} and {}, not be {}", format_duration(bounds.min),
                        format_duration(bounds.max), format_duration(duration))));
}

// Left as it is if it is not given.
Result<void> read_bounded(std::string_view text, const JsonFields& fields, std::string_view name, Bounds bounds,
                          Duration& into) {
  TRY_ASSIGN(const auto given, read_duration_field(text, fields, name));
  if (!given) return {};
  TRY(check_bounds(fields, name, *given, bounds));
  into = *given;
  return {};
}

Result<void> read_bounded(std::string_view text, const JsonFields& fields, std::string_view name, Bounds bounds,
                          std::optional<Duration>& into) {
  if (fields.optional(name) == nullptr) return {};
  return read_bounded(text, fields, name, bounds, into.emplace());
}

Result<Trigger> delivery(std::string_view text, const JsonFields& fields) {
  DeliveryTrigger trigger;
  TRY_ASSIGN(trigger.due, required_text(text, fields, "due", parse_time_of_day));
  TRY(read_bounded(text, fields, "window", {.min = kEveryMin, .max = kDeliveryWindowEnd - std::chrono::milliseconds(1)},
                   trigger.window));
  TRY(read_bounded(text, fields, "retry_delay", {.min = kEveryMin}, trigger.retry_delay));
  TRY_ASSIGN(trigger.spread, read_flag_field(fields, "spread", false));
  return trigger;
}

Result<Trigger> windows(std::string_view text, const JsonFields& fields) {
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

// "10m", or ["4h", "6h"]: between these.
Result<CheckSpan> check_span(std::string_view text, const JsonFields& fields, std::string_view name) {
  const Json* const value = fields.optional(name);
  if (value == nullptr) return fields.missing(name, "a duration, or a pair of them");
  const std::string path = fields.path_of(name);
  CheckSpan span;
  if (value->type == JsonType::array) {
    if (value->items.size() != 2) {
      return fields.fail(*value, name,
                         fmt::format("expected a duration or a pair of them, found {}", value->items.size()));
    }
    TRY_ASSIGN(span.min, read_json_duration(text, value->items[0], path + "[0]"));
    TRY_ASSIGN(span.max, read_json_duration(text, value->items[1], path + "[1]"));
    if (span.max < span.min) {
      return cannot_work(fields.fail(*value, name,
                                     fmt::format("the pair is reversed: {} is longer than {}",
                                                 format_duration(span.min), format_duration(span.max))));
    }
  } else {
    TRY_ASSIGN(span.min, read_json_duration(text, *value, path));
    span.max = span.min;
  }
  TRY(check_bounds(fields, name, span.min, {.min = kEveryMin}));
  return span;
}

Result<void> read_bands(std::string_view text, const JsonFields& fields, std::vector<AdaptiveTrigger::Band>& bands) {
  constexpr std::string_view kName = "bands";
  TRY_ASSIGN(const Json* const list, fields.optional(kName, JsonType::array));
  if (list == nullptr) return {};
  if (list->items.size() > kBandsMax) {
    return fields.fail(*list, kName,
                       fmt::format("has {} bands; at most {} are allowed", list->items.size(), kBandsMax));
  }
  for (const Json& item : list->items) {
    const std::string path = fmt::format("{}[{}]", fields.path_of(kName), bands.size());
    if (item.type != JsonType::object) {
      return json_error(text, item.offset, path, fmt::format("expected an object, found {}", describe(item.type)));
    }
    TRY_ASSIGN(JsonFields band, JsonFields::of(text, item, path, kBandFields));
    AdaptiveTrigger::Band& read = bands.emplace_back();
    TRY_ASSIGN(read.within, required_duration(text, band, "within"));
    TRY(check_bounds(band, "within", read.within, {.min = kEveryMin}));
    TRY_ASSIGN(read.every, check_span(text, band, "every"));
    if (bands.size() > 1 && read.within <= bands[bands.size() - 2].within) {
      return cannot_work(
          band.fail(*band.optional("within"), "within",
                    fmt::format("bands go from near to far, and {} is not further than {}",
                                format_duration(read.within), format_duration(bands[bands.size() - 2].within))));
    }
  }
  return {};
}

Result<Trigger> adaptive(std::string_view text, const JsonFields& fields) {
  AdaptiveTrigger trigger;
  TRY(read_bands(text, fields, trigger.bands));
  TRY_ASSIGN(trigger.otherwise, check_span(text, fields, "otherwise"));
  TRY(read_bounded(text, fields, "floor", {.min = kEveryMin}, trigger.floor));
  TRY(read_bounded(text, fields, "ceiling", {.min = kEveryMin}, trigger.ceiling));
  if (trigger.floor && trigger.ceiling && *trigger.floor > *trigger.ceiling) {
    return cannot_work(fields.fail(*fields.optional("floor"), "floor",
                                   fmt::format("{} is more than the ceiling of {}", format_duration(*trigger.floor),
                                               format_duration(*trigger.ceiling))));
  }
  return trigger;
}

Result<Trigger> by_kind(std::string_view text, std::string_view kind, const JsonFields& fields) {
  if (kind == "once") return once(text, fields);
  if (kind == "every") return every(text, fields);
  if (kind == "weekly") return weekly(text, fields);
  if (kind == "rrule") return rrule(text, fields);
  if (kind == "after") return after(fields);
  if (kind == "delivery") return delivery(text, fields);
  if (kind == "windows") return windows(text, fields);
  if (kind == "adaptive") return adaptive(text, fields);
  if (kind == "daily") {
    TRY_ASSIGN(const TimeOfDay time, required_text(text, fields, "at", parse_time_of_day));
    return DailyTrigger{.at = time};
  }
  CHECK(kind == "cron");
  TRY_ASSIGN(std::string cron, fields.string("cron"));
  return CronTrigger{.cron = std::move(cron)};
}

Result<TimeOfDay> hour_and_minute(const JsonFields& fields) {
  TRY_ASSIGN(const std::int64_t hour, fields.integer("hour", {0, 23}));
  TRY_ASSIGN(const std::int64_t minute, fields.integer("minute", {0, 59}));
  return TimeOfDay{static_cast<std::int32_t>(hour * 3600 + minute * 60)};
}

// Its days are numbers, 0 = Monday.
Result<Trigger> by_s1_type(std::string_view text, std::string_view type, const JsonFields& fields) {
  if (type == "daily") {
    TRY_ASSIGN(const TimeOfDay time, hour_and_minute(fields));
    return DailyTrigger{.at = time};
  }
  if (type == "weekly") {
    TRY_ASSIGN(const std::int64_t day, fields.integer("day", {0, 6}));
    TRY_ASSIGN(const TimeOfDay time, hour_and_minute(fields));
    return WeeklyTrigger{.on = {static_cast<Weekday>(day)}, .at = time};
  }
  if (type == "every_n_hours") {
    constexpr std::int64_t kHoursMax = kDurationMax / std::chrono::hours(1);
    TRY_ASSIGN(const std::int64_t hours, fields.integer("hours", {1, kHoursMax}));
    return EveryTrigger{.every = std::chrono::hours(hours)};
  }
  CHECK(type == "once");
  // S1 keeps the time beside the frequency, as scheduled_for.
  const Json* scheduled_for = fields.optional("scheduled_for");
  if (scheduled_for == nullptr) return once(text, fields);
  TRY_ASSIGN(const Instant instant, read_json_instant(text, *scheduled_for, fields.path_of("scheduled_for")));
  return OnceTrigger{.at = instant};
}

// Who does not say which kind he means, or one that there is not, is told first of a field that no kind has.
std::vector<std::string_view> fields_of_any(std::span<const KindOfTrigger> kinds) {
  std::vector<std::string_view> all;
  for (const KindOfTrigger& kind : kinds) {
    for (const std::string_view name : kind.fields) {
      if (std::ranges::find(all, name) == all.end()) all.push_back(name);
    }
  }
  return all;
}

Result<JsonFields> fields_of_kind(std::string_view text, const Json& value, const std::string& path,
                                  std::string_view selector, std::span<const KindOfTrigger> kinds) {
  const Json* const selected = value.find(selector);
  const bool is_text = selected != nullptr && selected->type == JsonType::string;
  const auto known =
      std::ranges::find_if(kinds, [&](const auto& kind) { return is_text && kind.name == selected->text; });
  if (known != kinds.end()) return JsonFields::of(text, value, path, known->fields);
  const std::vector<std::string_view> any = fields_of_any(kinds);
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, value, path, any));
  TRY_ASSIGN(const Json* const given, fields.required(selector, JsonType::string));
  std::vector<std::string_view> names;
  for (const KindOfTrigger& kind : kinds) names.push_back(kind.name);
  return fields.fail(*given, selector,
                     fmt::format("unknown {} {}{}; allowed are {}", selector, quoted(given->text),
                                 did_you_mean(given->text, names), fmt::join(names, ", ")));
}

struct KindName {
  std::string_view operator()(const OnceTrigger& /*unused*/) const { return "once"; }
  std::string_view operator()(const EveryTrigger& /*unused*/) const { return "every"; }
  std::string_view operator()(const DailyTrigger& /*unused*/) const { return "daily"; }
  std::string_view operator()(const WeeklyTrigger& /*unused*/) const { return "weekly"; }
  std::string_view operator()(const CronTrigger& /*unused*/) const { return "cron"; }
  std::string_view operator()(const RruleTrigger& /*unused*/) const { return "rrule"; }
  std::string_view operator()(const AfterTrigger& /*unused*/) const { return "after"; }
  std::string_view operator()(const DeliveryTrigger& /*unused*/) const { return "delivery"; }
  std::string_view operator()(const WindowsTrigger& /*unused*/) const { return "windows"; }
  std::string_view operator()(const AdaptiveTrigger& /*unused*/) const { return "adaptive"; }
};

}  // namespace

std::string_view kind_of(const Trigger& trigger) { return std::visit(KindName{}, trigger); }

bool plans_by_subject(const Trigger& trigger) {
  return std::holds_alternative<DeliveryTrigger>(trigger) || std::holds_alternative<WindowsTrigger>(trigger) ||
         std::holds_alternative<AdaptiveTrigger>(trigger);
}

Result<Trigger> parse_trigger_json(std::string_view text, const Json& value, const std::string& path) {
  if (value.type != JsonType::object) {
    return json_error(text, value.offset, path, fmt::format("expected an object, found {}", describe(value.type)));
  }
  const bool s1 = value.find("kind") == nullptr && value.find("type") != nullptr;
  const std::string_view selector = s1 ? "type" : "kind";
  const std::span<const KindOfTrigger> kinds = s1 ? std::span<const KindOfTrigger>(kS1Types) : kTriggerKinds;
  TRY_ASSIGN(JsonFields fields, fields_of_kind(text, value, path, selector, kinds));
  TRY_ASSIGN(const std::string selected, fields.string(selector));
  return s1 ? by_s1_type(text, selected, fields) : by_kind(text, selected, fields);
}

}  // namespace carillon
