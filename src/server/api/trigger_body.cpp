#include "server/api/trigger_body.h"

#include "base/json.h"
#include "core/jobs/job_fields.h"
#include "core/schedules/subject.h"
#include "server/api/request_body.h"

namespace carillon::server {

namespace {

constexpr auto kTriggerFields = field_names("payload", "priority", "window_start", "window_end", "mode");
constexpr auto kTriggerWithSubject = joined_fields(field_names("subject"), kTriggerFields);
constexpr auto kBackfillFields = field_names("subject", "from", "to");

// "": not said.
Result<std::string> read_subject(const JsonFields& fields) {
  TRY_ASSIGN(const Json* const given, fields.optional("subject", JsonType::string));
  if (given == nullptr) return std::string();
  if (const auto checked = check_subject_name(given->text); !checked) {
    return fields.fail(*given, "subject", checked.error().message);
  }
  return given->text;
}

}  // namespace

Result<Client::TriggerOptions> read_trigger(const CallRequest& request, SubjectNamed named) {
  Client::TriggerOptions options;
  TRY_ASSIGN(const auto json, optional_body(request));
  if (!json) return options;
  const std::string& text = request.body;
  const bool by_body = named == SubjectNamed::by_body;
  const JsonFields::Names names = by_body ? JsonFields::Names(kTriggerWithSubject) : kTriggerFields;
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, *json, "", names));
  if (by_body) {
    TRY_ASSIGN(options.subject, read_subject(fields));
  }
  if (const Json* const payload = fields.optional("payload")) options.payload = json_slice(text, *payload);
  TRY_ASSIGN(options.priority, read_priority_field(text, fields));
  TRY_ASSIGN(options.window_start, read_instant_field(text, fields, "window_start"));
  TRY_ASSIGN(options.window_end, read_instant_field(text, fields, "window_end"));
  TRY_ASSIGN(const Json* const mode, fields.optional("mode", JsonType::string));
  if (mode != nullptr) {
    if (const auto checked = check_name("mode", mode->text); !checked) {
      return fields.fail(*mode, "mode", checked.error().message);
    }
    options.mode = mode->text;
  }
  if (options.window_start && !options.window_end) return fields.missing("window_end", "where the window ends");
  if (options.window_end && !options.window_start) return fields.missing("window_start", "where the window begins");
  return options;
}

Result<Client::BackfillRequest> read_backfill(const CallRequest& request) {
  const std::string& text = request.body;
  TRY_ASSIGN(const Json json, parse_json_object(text));
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, json, "", kBackfillFields));
  Client::BackfillRequest range;
  TRY_ASSIGN(range.subject, read_subject(fields));
  TRY_ASSIGN(const auto from, read_instant_field(text, fields, "from"));
  TRY_ASSIGN(const auto to, read_instant_field(text, fields, "to"));
  if (!from) return fields.missing("from", "where the first window begins");
  if (!to) return fields.missing("to", "where the last window ends");
  range.from = *from;
  range.to = *to;
  return range;
}

}  // namespace carillon::server
