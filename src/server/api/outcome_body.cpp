#include "server/api/outcome_body.h"

#include <fmt/format.h>

#include "base/check.h"
#include "core/jobs/job_fields.h"
#include "server/api/job_body.h"

namespace carillon::server {

namespace {

constexpr auto kSubjectFields = field_names("expected_at", "status");

// Milliseconds since 1970 have as many digits; what has fewer was meant as a number of seconds.
constexpr std::size_t kUnixDigitsMin = 11;

Result<void> read_subject(std::string_view text, const Json& value, const std::string& path, Outcome& outcome) {
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, value, path, kSubjectFields));
  TRY_ASSIGN(outcome.expected_at, read_instant_field(text, fields, "expected_at"));
  outcome.forgets_expected_at = says_null(value, "expected_at");
  TRY_ASSIGN(outcome.status, read_text_field(fields, "status"));
  if (outcome.status && outcome.status->size() > kStatusBytesMax) {
    return fields.fail(*value.find("status"), "status", fmt::format("may have {} bytes", kStatusBytesMax));
  }
  return {};
}

}  // namespace

Result<void> read_completion(std::string_view text, const JsonFields& fields, const OutcomeSender& sender,
                             Outcome& outcome) {
  if (const Json* const output = fields.optional("output")) outcome.output = json_slice(text, *output);
  TRY_ASSIGN(auto reason, read_text_field(fields, "reason"));
  outcome.reason = std::move(reason).value_or("");
  TRY_ASSIGN(const Json* const then, fields.optional("then", JsonType::array));
  const std::size_t jobs = then == nullptr ? 0 : then->items.size();
  if (jobs > kFollowUpsMax) return fields.fail(*then, "then", fmt::format("may have {} jobs", kFollowUpsMax));
  for (std::size_t i = 0; i < jobs; ++i) {
    TRY_ASSIGN(JobBody body, read_job_body(text, then->items[i],
                                           {.tenant = sender.tenant,
                                            .created_by = sender.created_by,
                                            .path = fields.path_of(fmt::format("then[{}]", i)),
                                            .defaults = *sender.defaults}));
    outcome.follow_ups.push_back(request_of(std::move(body)));
  }
  TRY_ASSIGN(const Json* const subject, fields.optional("subject", JsonType::object));
  if (subject != nullptr) TRY(read_subject(text, *subject, fields.path_of("subject"), outcome));
  return {};
}

Result<void> read_failure(std::string_view text, const JsonFields& fields, Outcome& outcome) {
  TRY_ASSIGN(auto error_class, read_text_field(fields, "error_class"));
  if (error_class && !error_class->empty()) outcome.error_class = *std::move(error_class);
  TRY_ASSIGN(const bool permanent, read_flag_field(fields, "permanent", false));
  if (permanent) outcome.kind = Outcome::Kind::permanent;
  if (const Json* const after = fields.optional("retry_after")) {
    TRY_ASSIGN(outcome.again, read_when(text, *after, fields.path_of("retry_after")));
  }
  return {};
}

Result<RunAt> read_when(std::string_view text, const Json& value, const std::string& path) {
  if (value.type == JsonType::number) {
    if (value.text.size() < kUnixDigitsMin) {
      TRY_ASSIGN(const Duration never, read_json_duration(text, value, path));
      return in(never);
    }
    TRY_ASSIGN(const Instant at, read_json_instant(text, value, path));
    return RunAt(at);
  }
  if (value.type == JsonType::string) {
    if (const auto delay = parse_duration(value.text)) return in(*delay);
    if (const auto at = parse_instant(value.text)) return RunAt(*at);
  }
  return json_error(text, value.offset, path,
                    "expected a duration like \"90s\" or an instant like \"2026-03-29T01:00:00Z\"");
}

}  // namespace carillon::server
