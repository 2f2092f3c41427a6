// What a webhook's target sends, and the URL of one. The first character chooses: 'r' Retry-After, 'u' a URL, 'a' an
// entry of the allow list, else the body of an answer.
#include "server/handlers/webhook_answer.h"

#include "base/check.h"
#include "base/json_check.h"
#include "expect.h"
#include "net/address_guard.h"
#include "server/handlers/retry_after.h"

using namespace carillon;
using namespace carillon::server;

namespace {

const Instant kNow = parse_instant("2026-11-16T12:00:00Z").value();

void fuzz_retry_after(std::string_view text) {
  const auto wait = parse_retry_after(text, kNow);
  CHECK(!wait || (*wait >= Duration::zero() && *wait <= std::chrono::days(365)));
}

// What passes is public, or a name in plain characters.
void fuzz_url(std::string_view text) {
  const AddressGuard guard;
  const auto checked = guard.check_url(text);
  const auto url = parse_http_url(text);
  if (!checked) {
    fuzz::expect_readable(checked.error(), text);
    return;
  }
  CHECK(url && url->port != 0 && !url->host.empty());
  CHECK(text.find('@') == std::string_view::npos || text.find('@') > text.find_first_of("/?#", text.find("://") + 3));
  if (url->literal) {
    CHECK(!reserved_for(*url->literal));
    CHECK(parse_address(to_string(*url->literal)) == url->literal);
  }
}

void fuzz_entry(std::string_view text) {
  const auto guard = AddressGuard::allowing(std::vector{std::string(text)});
  if (!guard) fuzz::expect_readable(guard.error(), text);
}

void fuzz_body(std::string_view text) {
  WebhookAnswer answer;
  answer.status = 200;
  answer.content_type = "application/json";
  answer.body = text;
  const Outcome outcome = outcome_of(answer, "acme", kNow);
  CHECK(outcome.output.empty() || check_json(outcome.output));
  for (const JobRequest& job : outcome.follow_ups) CHECK(job.tenant == "acme" && !job.type.empty());
  // Whatever a refusal says, it stays one.
  answer.status = 500;
  const Outcome refused = outcome_of(answer, "acme", kNow);
  CHECK(refused.kind == Outcome::Kind::failed || refused.kind == Outcome::Kind::permanent);
  CHECK(!refused.error.empty() && !refused.error_class.empty() && refused.follow_ups.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  if (text.empty()) return 0;
  switch (text.front()) {
    case 'r': fuzz_retry_after(text.substr(1)); break;
    case 'u': fuzz_url(text.substr(1)); break;
    case 'a': fuzz_entry(text.substr(1)); break;
    default: fuzz_body(text); break;
  }
  return 0;
}
