// Links that sign somebody in at the page.
#include <chrono>
#include <utility>

#include "base/json_writer.h"
#include "server/api/query_fields.h"
#include "server/api/services.h"

namespace carillon::server {

namespace {

constexpr std::chrono::minutes kLinkLength(10);

// Only for the key itself: a session that could make the next one would never end.
Result<HttpResponse> make_login_link(Services& services, const RouteCall& call) {
  TRY(QueryFields(call.request).finish());
  if (call.request.header("authorization") == nullptr) {
    return refusal(403, "forbidden",
                   "a login link is made with the key itself (Authorization: Bearer), not by a session");
  }
  const Instant now = Services::real_now();
  JsonObject answer;
  answer.text("token", services.sessions.make_login(call.caller.id, now, kLinkLength));
  answer.text("expires_at", format_instant(now + kLinkLength));
  return json_answer(201, answer.str());
}

}  // namespace

void add_login_routes(RouteTable& table, Services& services) {
  table.push_back(
      {.method = Method::post,
       .path = "/v1/login-links",
       .about = About::nothing,
       .needs = Needs::read,
       .doc = {.group = "Administration",
               .summary = "A token that signs in once at the page, as this key: the page's address with #login=TOKEN.",
               .answers = {{201, "LoginLink"}},
               .errors = {{403, "forbidden"}}},
       .call = [&services](
                   const RouteCall& call) { answer(call, "login", [&] { return make_login_link(services, call); }); },
       .writes = false});
}

}  // namespace carillon::server
