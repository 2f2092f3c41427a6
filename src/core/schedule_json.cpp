#include <fmt/format.h>

#include "base/check.h"
#include "base/json_writer.h"
#include "core/job_fields.h"
#include "core/schedule.h"

namespace carillon {

namespace {

bool is_later_kind(std::string_view kind) { return kind == "delivery" || kind == "windows" || kind == "adaptive"; }

// The same place and words, but what was read cannot work.
std::unexpected<Error> cannot_work(std::unexpected<Error> refusal) {
  Error error = std::move(refusal).error();
  error.code = ErrorCode::invalid_configuration;
  return std::unexpected(std::move(error));
}

// A word out of a short list.
template <typename T>
Result<void> read_word(JsonFields& fields, std::string_view name, Result<T> (*parse)(std::string_view), T& into) {
  TRY_ASSIGN(const Json* const value, fields.optional(name, JsonType::string));
  if (value == nullptr) return {};
  const auto parsed = parse(value->text);
  if (!parsed) return fields.fail(*value, name, parsed.error().message);
  into = *parsed;
  return {};
}

Result<void> read_instant(std::string_view text, JsonFields& fields, std::string_view name,
                          std::optional<Instant>& into) {
  if (const Json* const value = fields.optional(name)) {
    TRY_ASSIGN(into, read_json_instant(text, *value, fields.path_of(name)));
  }
  return {};
}

Result<std::string> read_name(JsonFields& fields, std::string_view put_under) {
  TRY_ASSIGN(const Json* const given, fields.optional("name", JsonType::string));
  if (given == nullptr) {
    if (put_under.empty()) return fields.missing("name", "a string");
    TRY(check_name("name", put_under));
    return std::string(put_under);
  }
  if (const auto checked = check_name("name", given->text); !checked) {
    return fields.fail(*given, "name", checked.error().message);
  }
  if (!put_under.empty() && given->text != put_under) {
    return fields.fail(*given, "name",
                       fmt::format("{} is put under the name {}", quoted(given->text), quoted(put_under)));
  }
  return given->text;
}

Result<void> refuse_what_comes_later(JsonFields& fields) {
  TRY_ASSIGN(const Json* const fan_out, fields.optional("fan_out", JsonType::boolean));
  if (fan_out != nullptr && fan_out->boolean) {
    return cannot_work(fields.fail(*fan_out, "fan_out", "this version does not support schedules with subjects"));
  }
  if (const Json* const on_cutoff = fields.optional("on_cutoff")) {
    return cannot_work(fields.fail(*on_cutoff, "on_cutoff", "this version does not support it"));
  }
  return {};
}

Result<void> read_trigger(std::string_view text, JsonFields& fields, Schedule& schedule) {
  TRY_ASSIGN(const Json* const value, fields.required("trigger", JsonType::object));
  const Json* const kind = value->find("kind");
  if (kind != nullptr && kind->type == JsonType::string && is_later_kind(kind->text)) {
    return cannot_work(
        fields.fail(*kind, "trigger.kind", fmt::format("this version does not support {}", quoted(kind->text))));
  }
  TRY_ASSIGN(schedule.trigger, parse_trigger_json(text, *value, fields.path_of("trigger")));
  schedule.trigger_json = json_slice(text, *value);
  const AfterTrigger* const after = after_of(schedule);
  if (after == nullptr) return {};
  if (const auto checked = check_name("schedule", after->schedule); !checked) {
    return fields.fail(*value, "trigger.schedule", checked.error().message);
  }
  if (after->schedule == schedule.name) {  // invariant 31
    return cannot_work(fields.fail(*value, "trigger.schedule", "a schedule cannot follow itself"));
  }
  return {};
}

Result<void> read_zone(JsonFields& fields, Schedule& schedule) {
  TRY_ASSIGN(const Json* const value, fields.optional("timezone", JsonType::string));
  if (value == nullptr) return {};
  if (const auto zone = Zone::load(value->text); !zone) {
    if (zone.error().code != ErrorCode::invalid_configuration) return std::unexpected(zone.error());
    return cannot_work(fields.fail(*value, "timezone", zone.error().message));
  }
  schedule.timezone = value->text;
  return {};
}

Result<void> read_misfire(std::string_view text, JsonFields& parent, MisfirePolicy& misfire) {
  TRY_ASSIGN(const Json* const value, parent.optional("misfire", JsonType::object));
  if (value == nullptr) return {};
  JsonFields fields(text, *value, parent.path_of("misfire"));
  TRY(read_word(fields, "policy", parse_misfire_kind, misfire.kind));
  if (fields.optional("max") != nullptr) {
    TRY_ASSIGN(const std::int64_t max, fields.integer("max", {1, kMisfireMaxMax}));
    misfire.max = static_cast<std::uint32_t>(max);
  }
  TRY_ASSIGN(misfire.max_age, read_duration_field(text, fields, "max_age"));
  TRY_ASSIGN(const auto grace, read_duration_field(text, fields, "grace"));
  misfire.grace = grace.value_or(misfire.grace);
  return fields.finish();
}

Result<void> read_dst(std::string_view text, JsonFields& parent, DstPolicy& dst) {
  TRY_ASSIGN(const Json* const value, parent.optional("dst", JsonType::object));
  if (value == nullptr) return {};
  JsonFields fields(text, *value, parent.path_of("dst"));
  TRY(read_word(fields, "gap", parse_dst_gap, dst.gap));
  TRY(read_word(fields, "overlap", parse_dst_overlap, dst.overlap));
  return fields.finish();
}

Result<void> read_exclude_dates(JsonFields& fields, std::set<LocalDays>& days) {
  constexpr std::string_view kName = "exclude_dates";
  TRY_ASSIGN(const Json* const value, fields.optional(kName, JsonType::array));
  if (value == nullptr) return {};
  if (value->items.size() > kExcludeDatesMax) {
    return fields.fail(*value, kName,
                       fmt::format("names {} dates; at most {} are allowed", value->items.size(), kExcludeDatesMax));
  }
  for (const Json& item : value->items) {
    if (item.type != JsonType::string) return fields.fail(item, kName, "expected dates like \"2026-12-25\"");
    const auto day = parse_date(item.text);
    if (!day) return fields.fail(item, kName, day.error().message);
    days.insert(*day);
  }
  return {};
}

Result<void> read_policies(std::string_view text, JsonFields& fields, Schedule& schedule) {
  TRY(read_misfire(text, fields, schedule.misfire));
  TRY(read_word(fields, "overlap", parse_overlap, schedule.overlap));
  if (auto checked = check_misfire(schedule.misfire, schedule.overlap); !checked) {
    return std::unexpected(about_field("misfire", std::move(checked).error()));
  }
  TRY_ASSIGN(const auto jitter, read_duration_field(text, fields, "jitter"));
  schedule.jitter = jitter.value_or(Duration(0));
  TRY(read_dst(text, fields, schedule.dst));
  TRY(read_instant(text, fields, "starts_at", schedule.starts_at));
  TRY(read_instant(text, fields, "ends_at", schedule.ends_at));
  return read_exclude_dates(fields, schedule.exclude_dates);
}

Result<void> read_description(JsonFields& fields, std::string& description) {
  TRY_ASSIGN(const Json* const value, fields.optional("description", JsonType::string));
  if (value == nullptr) return {};
  if (value->text.size() > kDescriptionBytesMax) {
    return fields.fail(*value, "description",
                       fmt::format("has {} bytes; at most {} are allowed", value->text.size(), kDescriptionBytesMax));
  }
  description = value->text;
  return {};
}

// With microseconds, if it has any: it must come back as it was.
std::string exact(Instant at) {
  std::string text = format_instant(at);
  const auto micros = (at - std::chrono::floor<std::chrono::milliseconds>(at)).count();
  if (micros != 0) text.replace(text.size() - 1, 1, fmt::format("{:03}Z", micros));
  return text;
}

std::string write_misfire(const MisfirePolicy& misfire) {
  JsonObject object;
  object.text("policy", to_string(misfire.kind)).integer("max", misfire.max);
  if (misfire.max_age) object.text("max_age", format_duration(*misfire.max_age));
  return object.text("grace", format_duration(misfire.grace)).str();
}

std::string write_dst(const DstPolicy& dst) {
  JsonObject object;
  return object.text("gap", to_string(dst.gap)).text("overlap", to_string(dst.overlap)).str();
}

}  // namespace

Result<Schedule> parse_schedule(std::string_view json, std::string_view name) {
  TRY_ASSIGN(const Json root, parse_json(json));
  if (root.type != JsonType::object) {
    return json_error(json, root.offset, "schedule", fmt::format("expected an object, found {}", describe(root.type)));
  }
  Schedule schedule;
  JsonFields fields(json, root, "");
  TRY_ASSIGN(schedule.name, read_name(fields, name));
  TRY(read_description(fields, schedule.description));
  TRY_ASSIGN(schedule.enabled, read_flag_field(fields, "enabled", true));
  TRY(refuse_what_comes_later(fields));
  TRY(read_trigger(json, fields, schedule));
  TRY(read_zone(fields, schedule));
  TRY_ASSIGN(const Json* const job, fields.required("job", JsonType::object));
  TRY_ASSIGN(schedule.job, parse_job_template(json, *job, "job"));
  TRY(read_policies(json, fields, schedule));
  TRY(fields.finish());
  return schedule;
}

std::string write_schedule(const Schedule& schedule) {
  CHECK(!schedule.trigger_json.empty());
  JsonObject object;
  object.text("name", schedule.name);
  if (!schedule.description.empty()) object.text("description", schedule.description);
  object.boolean("enabled", schedule.enabled).raw("trigger", schedule.trigger_json);
  if (schedule.timezone) object.text("timezone", *schedule.timezone);
  object.raw("job", write_job_template(schedule.job)).raw("misfire", write_misfire(schedule.misfire));
  object.text("overlap", to_string(schedule.overlap)).text("jitter", format_duration(schedule.jitter));
  object.raw("dst", write_dst(schedule.dst));
  if (schedule.starts_at) object.text("starts_at", exact(*schedule.starts_at));
  if (schedule.ends_at) object.text("ends_at", exact(*schedule.ends_at));
  if (!schedule.exclude_dates.empty()) {
    JsonArray days;
    for (const LocalDays day : schedule.exclude_dates) days.raw(json_string(format_date(day)));
    object.raw("exclude_dates", days.str());
  }
  return object.str();
}

}  // namespace carillon
