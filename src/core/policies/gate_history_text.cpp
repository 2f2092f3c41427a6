#include "core/policies/gate_history_text.h"

#include "core/jobs/stored_json.h"

namespace carillon {

std::string write_gate_history(std::span<const PastClosing> closings) {
  JsonArray list;
  for (const PastClosing& one : closings) {
    JsonObject object;
    put_text(object, "gate", to_string(one.gate));
    put_instant(object, "closed_at", one.closed_at);
    put_instant(object, "until", one.until);
    put_instant(object, "opened_at", one.opened_at);
    list.raw(object.str());
  }
  JsonObject object;
  object.raw("closings", list.str());
  return object.str();
}

Result<std::vector<PastClosing>> read_gate_history(std::string_view text) {
  TRY_ASSIGN(const Json json, parse_stored("the history of gates", text));
  std::vector<PastClosing> closings;
  const Json* const list = json.find("closings");
  if (list == nullptr) return closings;
  for (const Json& item : list->items) {
    const StoredObject stored(text, item);
    const auto gate = gate_kind(stored.text("gate"));
    const auto closed_at = stored.instant("closed_at");
    if (!gate || !closed_at) continue;
    closings.push_back({.gate = *gate,
                        .closed_at = *closed_at,
                        .until = stored.instant("until"),
                        .opened_at = stored.instant("opened_at")});
  }
  return closings;
}

}  // namespace carillon
