#include "server/handlers/webhook_answer.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "core/jobs/job_fields.h"
#include "server/api/outcome_body.h"
#include "server/handlers/retry_after.h"

namespace carillon::server {

namespace {

constexpr std::size_t kShownBytesMax = 500;  // of an error page, in the error of the attempt

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

bool looks_like_object(std::string_view body) {
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && body[first] == '{';
}

// What a refusal says besides its status. Many have a JSON of their own: what is not as we know it counts as not said.
struct SaidOfFailure {
  std::string error;
  std::string error_class;
  bool permanent = false;
  std::optional<RunAt> again;
  std::string trouble;  // with what is meant for us alone
};

SaidOfFailure said_of_failure(const WebhookAnswer& answer) {
  SaidOfFailure said;
  if (!answer.body_is_whole || !looks_like_object(answer.body)) return said;
  const auto root = parse_json(answer.body);
  if (!root) return said;
  const auto text_at = [&](std::string_view name) {
    const Json* const value = root->find(name);
    return value != nullptr && value->type == JsonType::string ? value->text : std::string();
  };
  said.error = text_at("error");
  said.error_class = text_at("error_class");
  const Json* const permanent = root->find("permanent");
  said.permanent = permanent != nullptr && permanent->type == JsonType::boolean && permanent->boolean;
  if (const Json* const after = root->find("retry_after"); after != nullptr && after->type != JsonType::null) {
    const auto when = read_when(answer.body, *after, "retry_after");
    if (when) said.again = *when;
    if (!when) said.trouble = when.error().message;
  }
  return said;
}

Outcome failed_answer(const WebhookAnswer& answer, const SaidOfFailure& said) {
  std::string text = fmt::format("the webhook answered {}", answer.status);
  if (!said.error.empty()) {
    text += ": " + shown(said.error);
  } else if (!answer.body.empty()) {
    text += ": " + shown(answer.body);
  }
  if (!said.trouble.empty()) text += "; " + said.trouble;
  Outcome outcome =
      fail(std::move(text), said.error_class.empty() ? fmt::format("http_{}", answer.status) : shown(said.error_class));
  if (said.permanent || answer.status == 410) outcome.kind = Outcome::Kind::permanent;
  outcome.again = said.again;
  return outcome;
}

Outcome accepted(const WebhookAnswer& answer, std::string_view tenant, const JobDefaults& defaults) {
  const bool says_json = is_json_type(answer.content_type);
  if (!answer.body_is_whole) {
    // What is no JSON was not meant for us; what is may have asked for something.
    if (!says_json) return done();
    return fail("the webhook's JSON answer is longer than 64 KiB", "bad_answer");
  }
  if (!looks_like_object(answer.body)) return done();
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
  const JsonFields fields = JsonFields::open(body, root, "");
  Outcome outcome;
  // {"error": false} is how some say that there was none.
  const Json* const error = fields.optional("error");
  const bool says_none = error != nullptr && error->type == JsonType::boolean && !error->boolean;
  if (error != nullptr && !says_none) {
    TRY_ASSIGN(const std::string text, fields.string("error"));
    if (!text.empty()) {
      outcome = fail(shown(text));
      TRY(read_failure(body, fields, outcome));
      return outcome;
    }
  }
  TRY(read_completion(body, fields, {.tenant = tenant, .created_by = {}, .defaults = &defaults}, outcome));
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
  const SaidOfFailure said = said_of_failure(answer);
  if (answer.status == 429 || answer.status == 503) {
    if (const auto wait = parse_retry_after(answer.retry_after, now)) return rate_limited("", in(*wait));
    if (said.again) return rate_limited("", *said.again);
  }
  return failed_answer(answer, said);
}

}  // namespace carillon::server
