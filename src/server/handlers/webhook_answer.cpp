#include "server/handlers/webhook_answer.h"

#include <fmt/format.h>

#include "base/json.h"
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

RefusalSaid said_of_failure(const WebhookAnswer& answer) {
  if (!answer.body_is_whole || !looks_like_object(answer.body)) return {};
  const auto root = parse_json(answer.body);
  return root ? read_refusal(answer.body, *root) : RefusalSaid();
}

Outcome failed_answer(const WebhookAnswer& answer, const RefusalSaid& refusal) {
  const FailureSaid& said = refusal.failure;
  std::string text = fmt::format("the webhook answered {}", answer.status);
  if (!said.error.empty()) {
    text += ": " + shown(said.error);
  } else if (!answer.body.empty()) {
    text += ": " + shown(answer.body);
  }
  if (!refusal.trouble.empty()) text += "; " + refusal.trouble;
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
  TRY_ASSIGN(Outcome outcome, read_answer(body, root, {.tenant = tenant, .created_by = {}, .defaults = &defaults}));
  outcome.error = shown(outcome.error);
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
  const RefusalSaid said = said_of_failure(answer);
  if (answer.status == 429 || answer.status == 503) {
    if (const auto wait = parse_retry_after(answer.retry_after, now)) return rate_limited("", in(*wait));
    if (said.failure.again) return rate_limited("", *said.failure.again);
  }
  return failed_answer(answer, said);
}

}  // namespace carillon::server
