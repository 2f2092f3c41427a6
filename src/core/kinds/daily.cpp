// daily: a local time, each day.
#include "base/mutant.h"
#include "core/kinds/kind_fields.h"
#include "core/kinds/wall_clock.h"
#include "core/schedules/plan.h"
#include "core/triggers/trigger_kind.h"

namespace carillon {

namespace {

constexpr auto kDailyFields = field_names("kind", "at");
constexpr auto kS1DailyFields = field_names("type", "hour", "minute");

Result<Trigger> read_daily(std::string_view text, const JsonFields& fields) {
  TRY_ASSIGN(const TimeOfDay at, required_time_of_day(text, fields, "at"));
  return DailyTrigger{.at = at};
}

Result<Trigger> read_s1_daily(std::string_view /*text*/, const JsonFields& fields) {
  TRY_ASSIGN(const TimeOfDay at, hour_and_minute(fields));
  return DailyTrigger{.at = at};
}

Result<Trigger> read_daily_text(std::string_view text) {
  TRY_ASSIGN(const TimeOfDay at, parse_time_of_day(text));
  return DailyTrigger{.at = at};
}

Result<Timetable::Source> daily_times(const Trigger& trigger, const Timetable::Options& options) {
  return times_of({.parts = rule_at(Frequency::daily, std::get<DailyTrigger>(trigger).at), .name = "daily"}, options);
}

SubjectPlan plan_daily(const PlanFacts& facts) {
  SubjectPlan plan = plan_by_timetable(facts);
  if (mutant(Mutant::naive_dst) && plan.position) plan.next_at = add_clamped(*plan.position, std::chrono::hours(24));
  return plan;
}

}  // namespace

const TriggerKind& DailyTrigger::kind() {
  static const TriggerKind row{.name = "daily",
                               .fields = kDailyFields,
                               .read = read_daily,
                               .shown_field = "at",
                               .s1_type = "daily",
                               .s1_fields = kS1DailyFields,
                               .read_s1 = read_s1_daily,
                               .example = "daily:08:00",
                               .means = "each day at that local time",
                               .read_text = read_daily_text,
                               .times = daily_times,
                               .plan = plan_daily};
  return row;
}

}  // namespace carillon
