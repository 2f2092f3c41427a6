#include "engine/planning/replan.h"

#include "base/json_writer.h"
#include "core/jobs/stored_json.h"

namespace carillon {

DocumentKey replan_key(std::string_view tenant, std::string_view schedule) {
  return {.tenant = std::string(tenant), .kind = std::string(kReplanKind), .name = std::string(schedule)};
}

std::string write_replan(const Replan& replan) {
  JsonObject object;
  object.integer("schedule", replan.schedule.value);
  put_instant(object, "at", replan.at);
  put_instant(object, "ran_until", replan.ran_until);
  object.text("before", replan.before).integer("done", replan.done);
  put_instant(object, "paused_before", replan.paused_before);
  if (replan.after) object.text("after", *replan.after);
  return object.str();
}

Result<Replan> read_replan(const Document& document) {
  TRY_ASSIGN(const Json json, parse_stored(kReplanKind, document.body));
  const StoredObject object(document.body, json);
  Replan replan{.tenant = document.key.tenant, .name = document.key.name};
  replan.schedule.value = object.integer("schedule").value_or(0);
  replan.at = object.instant("at").value_or(kInstantMin);
  replan.ran_until = object.instant("ran_until");
  replan.before = object.text("before");
  replan.paused_before = object.instant("paused_before");
  replan.done = object.integer("done").value_or(0);
  if (json.find("after") != nullptr) replan.after = object.text("after");
  return replan;
}

}  // namespace carillon
