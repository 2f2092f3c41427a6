#include "store/subject_text.h"

#include "core/jobs/stored_json.h"

namespace carillon {

std::string_view subject_status_text(std::optional<JobState> status) {
  if (!status) return "";
  return *status == JobState::done ? "success" : to_string(*status);
}

void write_subject_state(const SubjectState& state, SubjectRow& row) {
  row.status = state.status;
  row.last_slot = state.last_slot;
  row.last_run_at = state.last_run_at;
  JsonObject object;
  put_text(object, "last_error", state.last_error);
  put_count(object, "error_count", state.error_count);
  put_instant(object, "expected_at", state.expected_at);
  put_text(object, "last_status", state.last_status);
  put_instant(object, "last_checked_at", state.last_checked_at);
  put_instant(object, "last_available_at", state.last_available_at);
  put_text(object, "cadence", state.cadence);
  row.state = object.empty() ? std::string() : object.str();
}

Result<SubjectState> read_subject_state(const SubjectRow& row) {
  SubjectState state{.status = row.status, .last_slot = row.last_slot, .last_run_at = row.last_run_at};
  if (row.state.empty()) return state;
  TRY_ASSIGN(const Json json, parse_stored("state of a subject", row.state));
  const StoredObject stored(row.state, json);
  state.last_error = stored.text("last_error");
  state.error_count = stored.count("error_count");
  state.expected_at = stored.instant("expected_at");
  state.last_status = stored.text("last_status");
  state.last_checked_at = stored.instant("last_checked_at");
  state.last_available_at = stored.instant("last_available_at");
  state.cadence = stored.text("cadence");
  return state;
}

}  // namespace carillon
