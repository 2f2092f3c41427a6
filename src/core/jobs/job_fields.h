// The fields of a job as a user writes them, wherever a job is written: in a schedule's template, or on its own.
//
// Each reader takes the object's JsonFields, which the caller has opened with the names of these fields and of those
// that only it has. Null and absent are the same: the default.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/job.h"
#include "core/settings/job_defaults.h"
#include "core/time/instant.h"
#include "core/time/json_time.h"

namespace carillon {

// What must be an object; `path` names it in messages.
Result<Json> parse_json_object(std::string_view text, std::string_view path = {});

// A text that somebody sends. What it is read into takes a small multiple of the text and has a bound of its own; lists
// that are too long are refused while they are read; payloads and the like are checked and not taken apart, so that of
// them only json_slice tells more than the type.
Result<Json> parse_sent_json(std::string_view text);

// The bytes of `value` as they are in `text`, which it was parsed from.
std::string_view json_slice(std::string_view text, const Json& value);

// The same place and words, but what was read cannot work: invalid_configuration.
std::unexpected<Error> cannot_work(std::unexpected<Error> refusal);

// Whether it is given, and null: where that means something else than nothing.
bool says_null(const Json& object, std::string_view name);

// "5m". Nothing if it is not given.
Result<std::optional<Duration>> read_duration_field(std::string_view text, const JsonFields& fields,
                                                    std::string_view name);
// "2026-03-29T01:00:00Z", or Unix milliseconds. Nothing if it is not given.
Result<std::optional<Instant>> read_instant_field(std::string_view text, const JsonFields& fields,
                                                  std::string_view name);
// Nothing if it is not given.
Result<std::optional<std::string>> read_text_field(const JsonFields& fields, std::string_view name);
Result<bool> read_flag_field(const JsonFields& fields, std::string_view name, bool otherwise);
// A list of strings; empty if it is not given.
Result<std::vector<std::string>> read_texts_field(const JsonFields& fields, std::string_view name);

// 1 to 5, or critical, high, medium, low, bulk.
Result<std::optional<int>> read_priority_field(std::string_view text, const JsonFields& fields);
// Any JSON, byte for byte; "null" if it is not given.
std::string read_payload_field(std::string_view text, const JsonFields& fields);

// Only their shape is judged here: check_new_job knows the bounds.
inline constexpr auto kOptionFields =
    field_names("retry", "max_attempts", "timeout", "lease", "limits", "notifies", "on_ambiguous", "tags", "meta");
struct ReadOptions {
  JobOptions options;
  SaidOptions said;
};
Result<ReadOptions> read_option_fields(std::string_view text, const JsonFields& fields);

// Those of them that were given or are not the default, as read_option_fields reads them.
void write_option_fields(JsonObject& object, const JobOptions& options, const SaidOptions& said);

}  // namespace carillon
