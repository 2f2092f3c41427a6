// cron: an expression of five fields, or six with seconds first. How it is read is in core/cron.h.
#include "core/recurrence/cron.h"

#include <fmt/format.h>

#include "core/kinds/wall_clock.h"
#include "core/triggers/trigger_kind.h"

namespace carillon {

namespace {

constexpr auto kCronFields = field_names("kind", "cron");

Result<Trigger> read_cron(std::string_view /*text*/, const JsonFields& fields) {
  TRY_ASSIGN(std::string cron, fields.string("cron"));
  return CronTrigger{.cron = std::move(cron)};
}

Result<Trigger> read_cron_text(std::string_view text) { return CronTrigger{.cron = std::string(text)}; }

Result<Timetable::Source> cron_times(const Trigger& trigger, const Timetable::Options& options) {
  const std::string& cron = std::get<CronTrigger>(trigger).cron;
  TRY_ASSIGN(RecurrenceRule parts, parse_cron(cron));
  return times_of({.parts = std::move(parts), .name = fmt::format("cron {}", quoted(cron))}, options);
}

}  // namespace

const TriggerKind& CronTrigger::kind() {
  static const TriggerKind row{.name = "cron",
                               .fields = kCronFields,
                               .read = read_cron,
                               .shown_field = "cron",
                               .example = "cron:0 8 * * 1-5",
                               .means = "five fields, or six with seconds first",
                               .read_text = read_cron_text,
                               .times = cron_times};
  return row;
}

}  // namespace carillon
