#include "core/schedules/subject.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/job_fields.h"

namespace carillon {

namespace {

// What windows add to a payload, at most; see kinds/windows.cpp.
constexpr std::size_t kWindowFieldsBytes = 512;

std::unexpected<Error> cannot_be(std::string_view field, std::string message) {
  auto refused = invalid_configuration(fmt::format("{}: {}", field, message));
  return std::unexpected(about_field(field, std::move(refused).error()));
}

bool has_field(const TriggerKind& kind, std::string_view field) {
  return std::ranges::find(kind.subject_fields, field) != kind.subject_fields.end();
}

// A field that only subjects of some kinds have.
Result<void> check_field(std::string_view field, bool is_given, const Schedule& schedule) {
  const TriggerKind& kind = kind_of(schedule.trigger);
  if (!is_given || has_field(kind, field)) return {};
  std::vector<std::string_view> those;
  for (const TriggerKind* const one : trigger_kinds()) {
    if (has_field(*one, field)) those.push_back(one->name);
  }
  return cannot_be(field, fmt::format("does not go with the kind {} of schedule {}; only {} has it", kind.name,
                                      quoted(schedule.name), fmt::join(those, " or ")));
}

}  // namespace

Result<void> check_subject_name(std::string_view subject) {
  if (subject.empty()) return invalid_request("subject is empty; a schedule with fan_out has named subjects only");
  if (subject == "." || subject == "..") {
    return invalid_request(fmt::format("subject {} cannot be reached: in a path it means a folder", quoted(subject)));
  }
  NewJob sample;
  sample.type = "any";
  sample.subject = subject;
  return check_new_job(sample);
}

Result<void> check_subject(const SubjectText& text, const Schedule& schedule, const WindowDefaults& defaults) {
  const SubjectOverrides& overrides = text.overrides;
  TRY(check_field("due", overrides.due.has_value(), schedule));
  TRY(check_field("start", overrides.start.has_value(), schedule));
  if (text.trigger && traits_of(schedule).has_windows) {
    return cannot_be("trigger", fmt::format("schedule {} is of the kind {}: a window is run by its own call, which "
                                            "names it",
                                            quoted(schedule.name), kind_of(schedule.trigger).name));
  }
  TRY(check_field("interval", overrides.interval.has_value(), schedule));
  TRY(check_field("mode", overrides.mode.has_value(), schedule));
  TRY(check_field("cursor_end", text.cursor_end.has_value(), schedule));
  TRY(check_field("expected_at", text.expected_at && *text.expected_at, schedule));
  const Duration shortest = std::max(defaults.min_window, Duration(kEveryMin));
  if (overrides.interval && *overrides.interval < shortest) {
    return cannot_be("interval", fmt::format("{} is below the shortest window, {}",
                                             format_duration(*overrides.interval), format_duration(shortest)));
  }
  if (overrides.payload && schedule.job.payload != "null" && !schedule.job.payload.starts_with('{')) {
    return cannot_be("payload", fmt::format("that of schedule {} is no object, so that nothing can be merged over it",
                                            quoted(schedule.name)));
  }
  // The template was checked with the schedule.
  const bool has_template_alone = !overrides.priority && !overrides.limits && !overrides.payload;
  if (has_template_alone && schedule.job.payload.size() + kWindowFieldsBytes <= kPayloadBytesMax) return {};
  // Here, and not only when the subject is due: nobody would be there to read the refusal.
  NewJob sample = job_of_subject(schedule.job, "default", overrides);
  if (sample.payload.size() + kWindowFieldsBytes > kPayloadBytesMax) {
    return cannot_be("payload", fmt::format("over that of the schedule it makes {} bytes; at most {} are allowed",
                                            sample.payload.size(), kPayloadBytesMax - kWindowFieldsBytes));
  }
  if (auto checked = check_new_job(sample); !checked) {
    return std::unexpected(with_context("subject", std::move(checked).error()));
  }
  return {};
}

Result<Zone> zone_of(const Schedule& schedule, const SubjectOverrides& overrides, const Zone& default_zone) {
  if (overrides.timezone) return Zone::load(*overrides.timezone);
  if (schedule.timezone) return Zone::load(*schedule.timezone);
  return default_zone;
}

Result<Timetable> timetable_for(const Schedule& schedule, const SubjectOverrides& overrides, const Zone& zone,
                                Instant created_at) {
  if (!overrides.start) return timetable_in(schedule, zone, created_at);
  Schedule own = schedule;
  const TriggerKind& kind = kind_of(own.trigger);
  if (kind.set_start) kind.set_start(own.trigger, *overrides.start, zone);
  return timetable_in(own, zone, created_at);
}

std::string merge_payload(std::string_view under, std::string_view over) {
  const auto below = parse_json(under);
  const auto above = parse_json(over);
  if (!below || !above || below->type != JsonType::object || above->type != JsonType::object) return std::string(over);
  JsonObject merged;
  for (const JsonMember& member : below->members) {
    const Json* const instead = above->find(member.key);
    merged.raw(member.key, instead == nullptr ? json_slice(under, member.value) : json_slice(over, *instead));
  }
  for (const JsonMember& member : above->members) {
    if (below->find(member.key) == nullptr) merged.raw(member.key, json_slice(over, member.value));
  }
  return merged.str();
}

NewJob job_of_subject(const JobTemplate& job, std::string_view tenant, const SubjectOverrides& overrides) {
  NewJob made = job_of(job, tenant);
  if (overrides.priority) made.priority = *overrides.priority;
  if (overrides.limits) made.options.limits = *overrides.limits;
  if (overrides.payload) made.payload = merge_payload(job.payload, *overrides.payload);
  return made;
}

}  // namespace carillon
