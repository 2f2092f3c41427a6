// once: a single instant.
#include "core/jobs/job_fields.h"
#include "core/triggers/trigger_kind.h"

namespace carillon {

namespace {

constexpr auto kOnceFields = field_names("kind", "at");
constexpr auto kS1OnceFields = field_names("type", "scheduled_for", "at");

Result<Trigger> read_once(std::string_view text, const JsonFields& fields) {
  if (const Json* at = fields.optional("at")) {
    TRY_ASSIGN(const Instant instant, read_json_instant(text, *at, fields.path_of("at")));
    return OnceTrigger{.at = instant};
  }
  return fields.missing("at", "an instant as RFC 3339 or Unix milliseconds");
}

// S1 keeps the time beside the frequency, as scheduled_for.
Result<Trigger> read_s1_once(std::string_view text, const JsonFields& fields) {
  const Json* scheduled_for = fields.optional("scheduled_for");
  if (scheduled_for == nullptr) return read_once(text, fields);
  TRY_ASSIGN(const Instant instant, read_json_instant(text, *scheduled_for, fields.path_of("scheduled_for")));
  return OnceTrigger{.at = instant};
}

Result<Trigger> read_once_text(std::string_view text) {
  TRY_ASSIGN(const Instant at, parse_instant(text));
  return OnceTrigger{.at = at};
}

Result<Timetable::Source> once_times(const Trigger& trigger, const Timetable::Options& /*options*/) {
  return Timetable::Once{.at = up_to_millisecond(std::get<OnceTrigger>(trigger).at)};
}

}  // namespace

const TriggerKind& OnceTrigger::kind() {
  static const TriggerKind row{.name = "once",
                               .fields = kOnceFields,
                               .read = read_once,
                               .shown_field = "at",
                               .s1_type = "once",
                               .s1_fields = kS1OnceFields,
                               .read_s1 = read_s1_once,
                               .example = "once:2026-03-29T01:00:00Z",
                               .means = "a single instant",
                               .read_text = read_once_text,
                               .times = once_times};
  return row;
}

}  // namespace carillon
