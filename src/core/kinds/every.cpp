// every: a steady interval of absolute time.
#include <fmt/format.h>

#include "base/text_cursor.h"
#include "core/jobs/job_fields.h"
#include "core/kinds/kind_fields.h"
#include "core/triggers/trigger_kind.h"

namespace carillon {

namespace {

constexpr auto kEveryFields = field_names("kind", "every", "anchor");
constexpr auto kS1HoursFields = field_names("type", "hours");
constexpr auto kEverySubjectFields = field_names("start");

Result<Trigger> read_every(std::string_view text, const JsonFields& fields) {
  EveryTrigger trigger;
  TRY_ASSIGN(trigger.every, required_duration(text, fields, "every", parse_interval));
  if (const Json* anchor = fields.optional("anchor")) {
    TRY_ASSIGN(trigger.anchor, read_json_instant(text, *anchor, fields.path_of("anchor")));
  }
  return trigger;
}

Result<Trigger> read_s1_hours(std::string_view /*text*/, const JsonFields& fields) {
  constexpr std::int64_t kHoursMax = kDurationMax / std::chrono::hours(1);
  TRY_ASSIGN(const std::int64_t hours, fields.integer("hours", {1, kHoursMax}));
  return EveryTrigger{.every = std::chrono::hours(hours), .anchor = {}};
}

Result<Trigger> read_every_text(std::string_view text) {
  TRY_ASSIGN(const Duration every, parse_interval(text));
  return EveryTrigger{.every = every, .anchor = {}};
}

void set_anchor(Trigger& trigger, const GivenTime& start, const Zone& zone) {
  std::get<EveryTrigger>(trigger).anchor = start.in(zone);
}

Result<Timetable::Source> every_times(const Trigger& trigger, const Timetable::Options& options) {
  const auto& every = std::get<EveryTrigger>(trigger);
  if (every.every < kEveryMin) {
    return invalid_configuration(
        fmt::format("every {}: must be at least {}", format_duration(every.every), format_duration(kEveryMin)));
  }
  return Timetable::Every{.anchor = up_to_millisecond(every.anchor.value_or(options.created_at)),
                          .every = every.every,
                          .first = every.anchor ? 0 : 1};
}

}  // namespace

Result<Duration> parse_interval(std::string_view text) {
  TRY_ASSIGN(const Duration every, parse_duration(text));
  if (every < kEveryMin) return TextCursor("duration", text).fail("an interval must be at least 1s");
  return every;
}

const TriggerKind& EveryTrigger::kind() {
  static const TriggerKind row{.name = "every",
                               .fields = kEveryFields,
                               .read = read_every,
                               .shown_field = "every",
                               .s1_type = "every_n_hours",
                               .s1_fields = kS1HoursFields,
                               .read_s1 = read_s1_hours,
                               .example = "every:2h",
                               .means = "a steady interval; --start gives its anchor",
                               .read_text = read_every_text,
                               .subject_fields = kEverySubjectFields,
                               .set_start = set_anchor,
                               .times = every_times};
  return row;
}

}  // namespace carillon
