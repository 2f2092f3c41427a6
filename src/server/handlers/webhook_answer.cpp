#include "server/handlers/webhook_answer.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "core/job_fields.h"
#include "core/job_template.h"
#include "server/handlers/retry_after.h"

namespace carillon::server {

namespace {

constexpr std::size_t kFollowUpsMax = 1000;
constexpr std::size_t kShownBytesMax = 500;  // of an error page, in the error of the attempt

Result<std::string> read_text(JsonFields& fields, std::string_view name) {
  TRY_ASSIGN(const Json* const value, fields.optional(name, JsonType::string));
  return value == nullptr ? std::string() : value->text;
}

Result<KeyHold> read_hold(JsonFields& fields) {
  TRY_ASSIGN(const std::string word, read_text(fields, "unique_until"));
  if (word.empty() || word == "pruned") return KeyHold{};
  if (word == "done") return KeyHold{.until = KeyHold::Until::done};
  const auto duration = parse_duration(word);
  if (!duration) {
    return fields.fail(*fields.optional("unique_until"), "unique_until",
                       "must be \"pruned\", \"done\" or a duration such as \"1h\"");
  }
  return KeyHold{.until = KeyHold::Until::elapsed, .duration = *duration};
}

Result<std::vector<JobId>> read_dependencies(std::string_view text, const Json& item, JsonFields& fields) {
  TRY_ASSIGN(const std::vector<std::string> names, read_texts_field(fields, "depends_on"));
  std::vector<JobId> ids;
  for (const std::string& name : names) {
    const auto id = parse_job_id(name);
    if (!id) return json_error(text, item.offset, fields.path_of("depends_on"), quoted(name) + " is no job id");
    ids.push_back(*id);
  }
  return ids;
}

Result<JobRequest> read_follow_up(std::string_view text, const Json& item, const std::string& path,
                                  std::string_view tenant, const JobDefaults& defaults) {
  if (item.type != JsonType::object) {
    return json_error(text, item.offset, path, fmt::format("expected an object, found {}", describe(item.type)));
  }
  JsonFields fields(text, item, path);
  TRY_ASSIGN(JobTemplate job, read_template_fields(text, fields));
  fill(job, defaults);
  TRY_ASSIGN(const auto run_at, read_instant_field(text, fields, "run_at"));
  TRY_ASSIGN(const auto delay, read_duration_field(text, fields, "delay"));
  if (run_at && delay) return json_error(text, item.offset, path, "takes run_at or delay, not both");
  TRY_ASSIGN(const auto deadline, read_instant_field(text, fields, "deadline"));
  TRY_ASSIGN(std::optional<std::string> key, read_text_field(fields, "idempotency_key"));
  TRY_ASSIGN(const KeyHold hold, read_hold(fields));
  TRY_ASSIGN(std::string subject, read_text(fields, "subject"));
  TRY_ASSIGN(std::vector<JobId> depends_on, read_dependencies(text, item, fields));
  TRY(fields.finish());

  NewJob checked = job_of(job, tenant);
  checked.deadline = deadline;
  checked.options.idempotency_key = key;
  checked.subject = subject;
  if (const auto good = check_new_job(checked); !good) return json_error(text, item.offset, path, good.error().message);

  JobRequest request{.type = std::move(job.type),
                     .tenant = std::string(tenant),
                     .queue = std::move(job.queue),
                     .payload = std::move(job.payload),
                     .priority = job.priority,
                     .run_at = {},
                     .deadline = deadline,
                     .idempotency_key = std::move(key),
                     .unique_until = hold,
                     .retry = job.options.retry,
                     .max_attempts = job.options.max_attempts,
                     .timeout = job.options.timeout,
                     .lease = job.options.lease,
                     .limits = job.options.limits,
                     .notifies = job.options.notifies,
                     .on_ambiguous = job.options.on_ambiguous,
                     .depends_on = std::move(depends_on),
                     .run_anyway = job.options.run_anyway,
                     .subject = std::move(subject),
                     .tags = job.options.tags,
                     .meta = job.options.meta,
                     .created_by = {}};
  if (run_at) request.run_at = *run_at;
  if (delay) request.run_at = in(*delay);
  return request;
}

Result<void> read_subject(std::string_view text, const Json& value, Outcome& outcome) {
  JsonFields fields(text, value, "subject");
  TRY_ASSIGN(outcome.expected_at, read_instant_field(text, fields, "expected_at"));
  outcome.forgets_expected_at = says_null(value, "expected_at");
  TRY_ASSIGN(const Json* const status, fields.optional("status", JsonType::string));
  if (status != nullptr) {
    if (status->text.size() > kStatusBytesMax) {
      return fields.fail(*status, "status", fmt::format("may have {} bytes", kStatusBytesMax));
    }
    outcome.status = status->text;
  }
  return fields.finish();
}

bool is_json_type(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  return type.find("application/json") != std::string_view::npos || type.find("+json") != std::string_view::npos;
}

// One line of plain characters, for people.
std::string shown(std::string_view body) {
  std::string out;
  for (const char c : body.substr(0, kShownBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7F ? ' ' : c;
  }
  return out;
}

Outcome failed_answer(const WebhookAnswer& answer, bool is_permanent) {
  std::string text = fmt::format("the webhook answered {}", answer.status);
  if (!answer.body.empty()) text += ": " + shown(answer.body);
  std::string error_class = fmt::format("http_{}", answer.status);
  return is_permanent ? permanent(std::move(text), std::move(error_class))
                      : fail(std::move(text), std::move(error_class));
}

Outcome accepted(const WebhookAnswer& answer, std::string_view tenant, const JobDefaults& defaults) {
  const bool says_json = is_json_type(answer.content_type);
  if (!answer.body_is_whole) {
    // What is no JSON was not meant for us; what is may have asked for something.
    if (!says_json) return done();
    return fail("the webhook's JSON answer is longer than 64 KiB", "bad_answer");
  }
  const std::size_t first = answer.body.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || answer.body[first] != '{') return done();
  auto outcome = read_answer_body(answer.body, tenant, defaults);
  if (outcome) return *std::move(outcome);
  // A page that happens to begin with a brace.
  if (!says_json && !parse_json(answer.body)) return done();
  return fail(fmt::format("cannot use the webhook's answer: {}", outcome.error().message), "bad_answer");
}

}  // namespace

Result<Outcome> read_answer_body(std::string_view body, std::string_view tenant, const JobDefaults& defaults) {
  TRY_ASSIGN(const Json root, parse_json(body));
  if (root.type != JsonType::object) return json_error(body, root.offset, "", "expected an object");
  JsonFields fields(body, root, "");
  Outcome outcome;
  if (const Json* const output = fields.optional("output")) outcome.output = std::string(json_slice(body, *output));
  TRY_ASSIGN(outcome.reason, read_text(fields, "reason"));
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
  TRY_ASSIGN(const Json* const then, fields.optional("then", JsonType::array));
  if (then != nullptr) {
    if (then->items.size() > kFollowUpsMax) {
      return fields.fail(*then, "then", fmt::format("may have {} jobs", kFollowUpsMax));
    }
    for (std::size_t i = 0; i < then->items.size(); ++i) {
      TRY_ASSIGN(JobRequest job, read_follow_up(body, then->items[i], fmt::format("then[{}]", i), tenant, defaults));
      outcome.follow_ups.push_back(std::move(job));
    }
  }
  TRY_ASSIGN(const Json* const subject, fields.optional("subject", JsonType::object));
  if (subject != nullptr) TRY(read_subject(body, *subject, outcome));
  return outcome;
}

Outcome outcome_of(const WebhookAnswer& answer, std::string_view tenant, Instant now, const JobDefaults& defaults) {
  switch (answer.kind) {
    case WebhookAnswer::Kind::blocked: return permanent(answer.error, "blocked_address");
    case WebhookAnswer::Kind::timed_out: return timed_out(answer.error);
    case WebhookAnswer::Kind::unreachable: return fail(answer.error, "unreachable");
    case WebhookAnswer::Kind::breaker_open: return defer(in(answer.wait), "webhook_host_down");
    case WebhookAnswer::Kind::cancelled: return fail("the call was cut off", "cancelled");
    case WebhookAnswer::Kind::answered: break;
  }
  if (answer.status >= 200 && answer.status < 300) return accepted(answer, tenant, defaults);
  if (answer.status == 429 || answer.status == 503) {
    if (const auto wait = parse_retry_after(answer.retry_after, now)) return rate_limited("", in(*wait));
  }
  return failed_answer(answer, answer.status == 410);
}

}  // namespace carillon::server
