// rrule: a rule of RFC 5545. How it is read is in core/rrule.h.
#include "core/recurrence/rrule.h"

#include <fmt/format.h>

#include "base/mutant.h"
#include "core/jobs/job_fields.h"
#include "core/kinds/wall_clock.h"
#include "core/triggers/trigger_kind.h"

namespace carillon {

namespace {

constexpr auto kRruleFields = field_names("kind", "rrule", "start");
constexpr auto kRruleSubjectFields = field_names("start");

Result<Trigger> read_rrule(std::string_view text, const JsonFields& fields) {
  RruleTrigger trigger;
  TRY_ASSIGN(trigger.rrule, fields.string("rrule"));
  if (const Json* start = fields.optional("start")) {
    TRY_ASSIGN(trigger.start, read_json_given_time(text, *start, fields.path_of("start")));
  }
  return trigger;
}

Result<Trigger> read_rrule_text(std::string_view text) { return RruleTrigger{.rrule = std::string(text), .start = {}}; }

void set_rrule_start(Trigger& trigger, const GivenTime& start, const Zone& /*zone*/) {
  std::get<RruleTrigger>(trigger).start = start;
}

Result<Timetable::Source> rrule_times(const Trigger& trigger, const Timetable::Options& options) {
  const auto& rrule = std::get<RruleTrigger>(trigger);
  WallClockRule rule;
  TRY_ASSIGN(rule.parts, parse_rrule(rrule.rrule));
  // What never fires because of its end is pointed at there.
  rule.name = rule.parts.until_column == 0
                  ? fmt::format("rrule {}", quoted(rrule.rrule))
                  : fmt::format("rrule {}, column {}", quoted(rrule.rrule), rule.parts.until_column);
  if (rrule.start) {
    rule.start = rrule.start->local_in(options.zone);
    return times_of(rule, options);
  }
  // The minute of the creation fixes the phase; the creation itself is no occurrence, and COUNT counts what runs.
  rule.start = std::chrono::floor<std::chrono::minutes>(options.zone.to_local(options.created_at));
  if (!mutant(Mutant::creation_is_an_occurrence)) rule.after = options.created_at;
  return times_of(rule, options);
}

}  // namespace

const TriggerKind& RruleTrigger::kind() {
  static const TriggerKind row{.name = "rrule",
                               .fields = kRruleFields,
                               .read = read_rrule,
                               .shown_field = "rrule",
                               .example = "rrule:FREQ=WEEKLY;BYDAY=MO",
                               .means = "RFC 5545; --start gives DTSTART",
                               .read_text = read_rrule_text,
                               .subject_fields = kRruleSubjectFields,
                               .set_start = set_rrule_start,
                               .times = rrule_times};
  return row;
}

}  // namespace carillon
