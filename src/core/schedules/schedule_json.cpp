#include <fmt/format.h>

#include <array>

#include "base/check.h"
#include "base/json_writer.h"
#include "core/jobs/job_fields.h"
#include "core/schedules/schedule.h"
#include "core/schedules/subject.h"
#include "core/settings/merge_patch.h"

namespace carillon {

namespace {

constexpr auto kDstFields = field_names("gap", "overlap");
constexpr auto kMisfireFields = field_names("policy", "max", "max_age", "grace");

// One text out of a short list.
template <typename T>
Result<void> read_word(const JsonFields& fields, std::string_view name, Result<T> (*parse)(std::string_view), T& into) {
  TRY_ASSIGN(const Json* const value, fields.optional(name, JsonType::string));
  if (value == nullptr) return {};
  const auto parsed = parse(value->text);
  if (!parsed) return fields.fail(*value, name, parsed.error().message);
  into = *parsed;
  return {};
}

Result<void> read_given_time(std::string_view text, const JsonFields& fields, std::string_view name,
                             std::optional<GivenTime>& into) {
  if (const Json* const value = fields.optional(name)) {
    TRY_ASSIGN(into, read_json_given_time(text, *value, fields.path_of(name)));
  }
  return {};
}

// A label for the jobs of a schedule that has no subjects. It is in the template: every job of it shows it.
Result<void> read_label(const JsonFields& fields, Schedule& schedule) {
  TRY_ASSIGN(const Json* const value, fields.optional("subject", JsonType::string));
  if (value == nullptr) return {};
  if (schedule.fan_out) {
    return cannot_work(fields.fail(*value, "subject", "a schedule with fan_out has subjects of its own"));
  }
  if (const auto checked = check_subject_name(value->text); !checked) {
    return fields.fail(*value, "subject", checked.error().message);
  }
  schedule.subject = value->text;
  schedule.job.options.label = value->text;
  if (schedule.on_cutoff) schedule.on_cutoff->options.label = value->text;
  return {};
}

Result<std::string> read_name(const JsonFields& fields, std::string_view put_under) {
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

// A field that is read, but says nothing to a schedule of this kind; without a `why` it does.
Result<void> refuse_field(const JsonFields& fields, std::string_view name, const Schedule& schedule,
                          std::string_view why) {
  const Json* const value = fields.optional(name);
  if (value == nullptr || why.empty()) return {};
  return cannot_work(
      fields.fail(*value, name, fmt::format("does not go with the kind {}: {}", kind_of(schedule.trigger).name, why)));
}

Result<void> read_on_cutoff(std::string_view text, const JsonFields& fields, Schedule& schedule) {
  constexpr std::string_view kName = "on_cutoff";
  const Json* const value = fields.optional(kName);
  if (value == nullptr) return {};
  if (!traits_of(schedule).has_cutoff) {
    const std::string those = kinds_where([](const TriggerKind& kind) { return kind.traits.has_cutoff; });
    return refuse_field(fields, kName, schedule, fmt::format("only a {} has a cutoff", those));
  }
  TRY_ASSIGN(schedule.on_cutoff, parse_job_template(text, *value, fields.path_of(kName)));
  return {};
}

// What of the template the kind itself decides.
Result<void> check_job(const JsonFields& fields, const Json& job, const Schedule& schedule) {
  const TriggerKind& kind = kind_of(schedule.trigger);
  if (!kind.refused.retry.empty()) {
    for (const std::string_view name : {"retry", "max_attempts"}) {
      const Json* const given = job.find(name);
      if (given == nullptr || given->type == JsonType::null) continue;
      return cannot_work(fields.fail(*given, fmt::format("job.{}", name), kind.refused.retry));
    }
  }
  return kind.check_job ? kind.check_job(fields, job, schedule.job) : Result<void>();
}

Result<void> read_trigger(std::string_view text, const JsonFields& fields, Schedule& schedule) {
  TRY_ASSIGN(const Json* const value, fields.required("trigger", JsonType::object));
  TRY_ASSIGN(schedule.trigger, parse_trigger_json(text, *value, fields.path_of("trigger")));
  schedule.trigger_json = json_slice(text, *value);
  const std::string* const followed = followed_by(schedule);
  if (followed == nullptr) return {};
  if (const auto checked = check_name("schedule", *followed); !checked) {
    return fields.fail(*value, "trigger.schedule", checked.error().message);
  }
  if (*followed == schedule.name) {  // invariant 31
    return cannot_work(fields.fail(*value, "trigger.schedule", "a schedule cannot follow itself"));
  }
  return {};
}

Result<void> read_zone(const JsonFields& fields, Schedule& schedule) {
  TRY_ASSIGN(const Json* const value, fields.optional("timezone", JsonType::string));
  if (value == nullptr) return {};
  if (const auto zone = Zone::load(value->text); !zone) {
    if (zone.error().code != ErrorCode::invalid_configuration) return std::unexpected(zone.error());
    return cannot_work(fields.fail(*value, "timezone", zone.error().message));
  }
  schedule.timezone = value->text;
  return {};
}

Result<void> read_misfire(std::string_view text, const JsonFields& parent, MisfirePolicy& misfire) {
  TRY_ASSIGN(const Json* const value, parent.optional("misfire", JsonType::object));
  if (value == nullptr) return {};
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, *value, parent.path_of("misfire"), kMisfireFields));
  TRY(read_word(fields, "policy", parse_misfire_kind, misfire.kind));
  if (fields.optional("max") != nullptr) {
    TRY_ASSIGN(const std::int64_t max, fields.integer("max", {1, kMisfireMaxMax}));
    misfire.max = static_cast<std::uint32_t>(max);
  }
  TRY_ASSIGN(misfire.max_age, read_duration_field(text, fields, "max_age"));
  TRY_ASSIGN(const auto grace, read_duration_field(text, fields, "grace"));
  misfire.grace = grace.value_or(misfire.grace);
  return {};
}

// Kinds that plan each subject on its own terms have rules of their own for what is late and what overlaps.
Result<void> read_misfire_and_overlap(std::string_view text, const JsonFields& fields, Schedule& schedule) {
  const RefusedFields& refused = kind_of(schedule.trigger).refused;
  TRY(refuse_field(fields, "overlap", schedule, refused.overlap));
  TRY(refuse_field(fields, "misfire", schedule, refused.misfire));
  if (!refused.misfire_but_grace.empty()) {
    TRY_ASSIGN(const Json* const value, fields.optional("misfire", JsonType::object));
    for (const std::string_view name : {"policy", "max", "max_age"}) {
      const Json* const given = value == nullptr ? nullptr : value->find(name);
      if (given == nullptr || given->type == JsonType::null) continue;
      return cannot_work(fields.fail(*given, fmt::format("misfire.{}", name), refused.misfire_but_grace));
    }
  }
  TRY(read_misfire(text, fields, schedule.misfire));
  TRY(read_word(fields, "overlap", parse_overlap, schedule.overlap));
  if (auto checked = check_misfire(schedule.misfire, schedule.overlap); !checked) {
    return std::unexpected(about_field("misfire", std::move(checked).error()));
  }
  return {};
}

Result<void> read_exclude_dates(const JsonFields& fields, std::set<LocalDays>& days) {
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

Result<void> read_policies(std::string_view text, const JsonFields& fields, Schedule& schedule) {
  const RefusedFields& refused = kind_of(schedule.trigger).refused;
  TRY(read_misfire_and_overlap(text, fields, schedule));
  TRY_ASSIGN(const auto jitter, read_duration_field(text, fields, "jitter"));
  schedule.jitter = jitter.value_or(Duration(0));
  if (schedule.jitter > Duration(0)) TRY(refuse_field(fields, "jitter", schedule, refused.jitter));
  TRY_ASSIGN(const Json* const dst, fields.optional("dst", JsonType::object));
  if (dst != nullptr) {
    TRY_ASSIGN(schedule.dst, read_dst_json(text, *dst, fields.path_of("dst")));
  }
  if (!refused.dst_overlap_both.empty() && schedule.dst.overlap == DstOverlap::both) {
    return cannot_work(fields.fail(*fields.optional("dst"), "dst.overlap", refused.dst_overlap_both));
  }
  TRY(refuse_field(fields, "exclude_dates", schedule, refused.exclude_dates));
  TRY(read_given_time(text, fields, "starts_at", schedule.starts));
  TRY(read_given_time(text, fields, "ends_at", schedule.ends));
  TRY(settle_times(schedule, Zone::utc()));
  return read_exclude_dates(fields, schedule.exclude_dates);
}

Result<void> read_description(const JsonFields& fields, std::string& description) {
  TRY_ASSIGN(const Json* const value, fields.optional("description", JsonType::string));
  if (value == nullptr) return {};
  if (value->text.size() > kDescriptionBytesMax) {
    return fields.fail(*value, "description",
                       fmt::format("has {} bytes; at most {} are allowed", value->text.size(), kDescriptionBytesMax));
  }
  description = value->text;
  return {};
}

std::string write_misfire(const MisfirePolicy& misfire) {
  JsonObject object;
  object.text("policy", to_string(misfire.kind)).integer("max", misfire.max);
  if (misfire.max_age) object.text("max_age", format_duration(*misfire.max_age));
  return object.text("grace", format_duration(misfire.grace)).str();
}

// Only what its kind reads back.
void write_misfire_and_overlap(JsonObject& object, const Schedule& schedule) {
  const RefusedFields& refused = kind_of(schedule.trigger).refused;
  if (!refused.misfire_but_grace.empty()) {
    object.raw("misfire", JsonObject().text("grace", format_duration(schedule.misfire.grace)).str());
  } else if (refused.misfire.empty()) {
    object.raw("misfire", write_misfire(schedule.misfire));
  }
  if (refused.overlap.empty()) object.text("overlap", to_string(schedule.overlap));
}

std::string write_dst(const DstPolicy& dst) {
  JsonObject object;
  return object.text("gap", to_string(dst.gap)).text("overlap", to_string(dst.overlap)).str();
}

}  // namespace

Result<DstPolicy> read_dst_json(std::string_view text, const Json& value, const std::string& path) {
  DstPolicy dst;
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, value, path, kDstFields));
  TRY(read_word(fields, "gap", parse_dst_gap, dst.gap));
  TRY(read_word(fields, "overlap", parse_dst_overlap, dst.overlap));
  return dst;
}

Result<Schedule> parse_schedule(std::string_view json, std::string_view name) {
  TRY_ASSIGN(const Json root, parse_sent_json(json));
  if (root.type != JsonType::object) {
    return json_error(json, root.offset, "schedule", fmt::format("expected an object, found {}", describe(root.type)));
  }
  Schedule schedule;
  TRY_ASSIGN(JsonFields fields, JsonFields::of(json, root, "", kScheduleFields));
  TRY_ASSIGN(schedule.name, read_name(fields, name));
  TRY(read_description(fields, schedule.description));
  TRY_ASSIGN(schedule.enabled, read_flag_field(fields, "enabled", true));
  TRY(read_trigger(json, fields, schedule));
  TRY_ASSIGN(schedule.fan_out, read_flag_field(fields, "fan_out", traits_of(schedule).has_subjects));
  TRY(read_zone(fields, schedule));
  TRY_ASSIGN(const Json* const job, fields.required("job", JsonType::object));
  TRY_ASSIGN(schedule.job, parse_job_template(json, *job, "job"));
  TRY(check_job(fields, *job, schedule));
  TRY(read_on_cutoff(json, fields, schedule));
  TRY(read_label(fields, schedule));
  TRY(read_policies(json, fields, schedule));
  return schedule;
}

std::string write_schedule(const Schedule& schedule) {
  CHECK(!schedule.trigger_json.empty());
  JsonObject object;
  object.text("name", schedule.name);
  if (!schedule.description.empty()) object.text("description", schedule.description);
  if (!schedule.subject.empty()) object.text("subject", schedule.subject);
  object.boolean("enabled", schedule.enabled).boolean("fan_out", schedule.fan_out);
  object.raw("trigger", schedule.trigger_json);
  if (schedule.timezone) object.text("timezone", *schedule.timezone);
  object.raw("job", write_job_template(schedule.job));
  if (schedule.on_cutoff) object.raw("on_cutoff", write_job_template(*schedule.on_cutoff));
  write_misfire_and_overlap(object, schedule);
  object.text("jitter", format_duration(schedule.jitter));
  object.raw("dst", write_dst(schedule.dst));
  if (schedule.starts) object.text("starts_at", schedule.starts->text());
  if (schedule.ends) object.text("ends_at", schedule.ends->text());
  if (!schedule.exclude_dates.empty()) {
    JsonArray days;
    for (const LocalDays day : schedule.exclude_dates) days.raw(json_string(format_date(day)));
    object.raw("exclude_dates", days.str());
  }
  return object.str();
}

Result<std::string> patched_schedule(std::string_view definition, std::string_view patch) {
  static constexpr std::array<std::string_view, 2> kWhole{"meta", "payload"};
  using Shape = MergeRules::Shape;
  // Stored are our own shapes of a retry; S1's are known by their members.
  static constexpr std::array kShapes{Shape{.object = "trigger", .member = "kind"},
                                      Shape{.object = "trigger", .member = "type"},
                                      Shape{.object = "retry", .member = "kind"},
                                      Shape{.object = "retry", .member = "max_attempts", .alone = true},
                                      Shape{.object = "retry", .member = "backoff_seconds", .alone = true},
                                      Shape{.object = "retry", .member = "retry_on_failure", .alone = true}};
  TRY_ASSIGN(const Json changes, parse_json_object(patch));
  for (const JsonMember& member : changes.members) {
    if (member.key == "name") return json_error(patch, member.offset, "name", "a schedule keeps its name");
  }
  std::string target(definition);
  // S1 says in `retry` how often: that replaces what was given beside it.
  for (const std::string_view name : {std::string_view("job"), std::string_view("on_cutoff")}) {
    const Json* const job = changes.find(name);
    const Json* const retry = job != nullptr ? job->find("retry") : nullptr;
    if (retry == nullptr || retry->find("kind") != nullptr || job->find("max_attempts") != nullptr) continue;
    const Json* const retries = retry->find("retry_on_failure");
    const bool never = retries != nullptr && retries->type == JsonType::boolean && !retries->boolean;
    if (!never && retry->find("max_attempts") == nullptr) continue;
    TRY_ASSIGN(target, merge_patch(target, fmt::format(R"({{"{}":{{"max_attempts":null}}}})", name), {}));
  }
  return merge_patch(target, patch, {.whole = kWhole, .shapes = kShapes});
}

}  // namespace carillon
