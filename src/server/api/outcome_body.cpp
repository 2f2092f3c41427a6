#include "server/api/outcome_body.h"

#include <fmt/format.h>

#include <utility>

#include "core/jobs/job_fields.h"
#include "server/api/job_body.h"

namespace carillon::server {

namespace {

constexpr auto kCompleteFields = field_names("output", "skipped", "reason", "then", "subject");
constexpr auto kFailFields = field_names("error", "error_class", "permanent", "retry_after", "rate_limited");
constexpr auto kDeferFields = field_names("until", "reason");
constexpr auto kSubjectFields = field_names("expected_at", "status");

// Milliseconds since 1970 have as many digits; what has fewer was meant as a number of seconds.
constexpr std::size_t kUnixDigitsMin = 11;

// "90s" from now, or an instant as RFC 3339 or Unix milliseconds. A small number is neither, and is told so.
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

// ---- Success

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

// All but whether it was skipped.
Result<void> read_success(std::string_view text, const JsonFields& fields, const OutcomeSender& sender,
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

Result<Outcome> read_complete(std::string_view text, const JsonFields& fields, const OutcomeSender& sender) {
  Outcome outcome;
  TRY_ASSIGN(const bool skipped, read_flag_field(fields, "skipped", false));
  if (skipped) outcome.kind = Outcome::Kind::skipped;
  TRY(read_success(text, fields, sender, outcome));
  return outcome;
}

// ---- Failure

Result<void> read_class(const JsonFields& fields, FailureSaid& said) {
  TRY_ASSIGN(auto error_class, read_text_field(fields, "error_class"));
  said.error_class = std::move(error_class).value_or("");
  return {};
}

Result<void> read_permanent(const JsonFields& fields, FailureSaid& said) {
  TRY_ASSIGN(said.permanent, read_flag_field(fields, "permanent", false));
  return {};
}

Result<void> read_again(std::string_view text, const JsonFields& fields, FailureSaid& said) {
  const Json* const after = fields.optional("retry_after");
  if (after == nullptr) return {};
  TRY_ASSIGN(said.again, read_when(text, *after, fields.path_of("retry_after")));
  return {};
}

Result<Outcome> read_failure(std::string_view text, const JsonFields& fields) {
  FailureSaid said;
  TRY_ASSIGN(said.error, fields.string("error"));
  TRY(read_class(fields, said));
  TRY(read_permanent(fields, said));
  TRY(read_again(text, fields, said));
  Outcome outcome =
      said.error_class.empty() ? fail(std::move(said.error)) : fail(std::move(said.error), std::move(said.error_class));
  if (said.permanent) outcome.kind = Outcome::Kind::permanent;
  outcome.again = said.again;
  return outcome;
}

Result<Outcome> read_fail(std::string_view text, const JsonFields& fields) {
  TRY_ASSIGN(Outcome outcome, read_failure(text, fields));
  const Json* const limited = fields.optional("rate_limited");
  if (limited == nullptr) return outcome;
  if (limited->type == JsonType::string) {
    outcome.limit = limited->text;
  } else if (limited->type != JsonType::boolean) {
    return fields.fail(*limited, "rate_limited", "expected true or the name of a limit");
  }
  if (limited->type == JsonType::string || limited->boolean) outcome.kind = Outcome::Kind::rate_limited;
  return outcome;
}

Result<Outcome> read_defer(std::string_view text, const JsonFields& fields) {
  const Json* const until = fields.optional("until");
  if (until == nullptr) return fields.missing("until", "when it is to come again");
  TRY_ASSIGN(const RunAt again, read_when(text, *until, fields.path_of("until")));
  TRY_ASSIGN(auto reason, read_text_field(fields, "reason"));
  return defer(again, std::move(reason).value_or(""));
}

}  // namespace

JsonFields::Names outcome_fields(std::string_view call) {
  if (call == "complete") return kCompleteFields;
  if (call == "fail") return kFailFields;
  if (call == "defer") return kDeferFields;
  return {};
}

Result<Outcome> read_outcome(std::string_view call, std::string_view text, const JsonFields& fields,
                             const OutcomeSender& sender) {
  if (call == "complete") return read_complete(text, fields, sender);
  if (call == "fail") return read_fail(text, fields);
  if (call == "defer") return read_defer(text, fields);
  return Outcome();
}

Result<Outcome> read_answer(std::string_view text, const Json& object, const OutcomeSender& sender) {
  const JsonFields fields = JsonFields::open(text, object, "");
  // {"error": false} is how some say that there was none.
  const Json* const error = fields.optional("error");
  const bool says_none = error != nullptr && error->type == JsonType::boolean && !error->boolean;
  if (error != nullptr && !says_none) {
    TRY_ASSIGN(const std::string said, fields.string("error"));
    if (!said.empty()) return read_failure(text, fields);
  }
  Outcome outcome;
  TRY(read_success(text, fields, sender, outcome));
  if (const Json* const skip = fields.optional("skipped")) {
    if (skip->type == JsonType::string) {
      outcome.kind = Outcome::Kind::skipped;
      outcome.reason = skip->text;
    } else if (skip->type == JsonType::boolean) {
      if (skip->boolean) outcome.kind = Outcome::Kind::skipped;
    } else {
      return fields.fail(*skip, "skipped", "must be true, false or a reason");
    }
  }
  return outcome;
}

RefusalSaid read_refusal(std::string_view text, const Json& object) {
  const JsonFields fields = JsonFields::open(text, object, "");
  RefusalSaid said;
  if (auto error = read_text_field(fields, "error"); error && *error) said.failure.error = **std::move(error);
  static_cast<void>(read_class(fields, said.failure));
  static_cast<void>(read_permanent(fields, said.failure));
  if (const auto again = read_again(text, fields, said.failure); !again) said.trouble = again.error().message;
  return said;
}

}  // namespace carillon::server
