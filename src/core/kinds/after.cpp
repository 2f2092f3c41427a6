// after: when an occurrence of another schedule is done. It has no times of its own.
#include <fmt/format.h>

#include "core/triggers/trigger_kind.h"

namespace carillon {

namespace {

constexpr auto kAfterFields = field_names("kind", "schedule", "on");

Result<Trigger> read_after(std::string_view /*text*/, const JsonFields& fields) {
  AfterTrigger trigger;
  TRY_ASSIGN(trigger.schedule, fields.string("schedule"));
  TRY_ASSIGN(const Json* on, fields.optional("on", JsonType::string));
  if (on != nullptr && on->text != "done") return fields.fail(*on, "on", "the only value is \"done\"");
  return trigger;
}

// Without an example: a preview, which is what reads texts, has nothing to show of it.
Result<Trigger> read_after_text(std::string_view text) { return AfterTrigger{.schedule = std::string(text)}; }

Result<Timetable::Source> no_times_of_its_own(const Trigger& trigger, const Timetable::Options& /*options*/) {
  return invalid_configuration(fmt::format("after {}: follows another schedule and has no times of its own",
                                           quoted(std::get<AfterTrigger>(trigger).schedule)));
}

const std::string* followed_by_after(const Trigger& trigger) { return &std::get<AfterTrigger>(trigger).schedule; }

}  // namespace

const TriggerKind& AfterTrigger::kind() {
  static const TriggerKind row{.name = "after",
                               .fields = kAfterFields,
                               .read = read_after,
                               .shown_field = "schedule",
                               .read_text = read_after_text,
                               .times = no_times_of_its_own,
                               .follows = followed_by_after};
  return row;
}

}  // namespace carillon
