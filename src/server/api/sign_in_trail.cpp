#include "server/api/sign_in_trail.h"

#include <chrono>
#include <utility>

#include "base/json_writer.h"
#include "core/jobs/json_members.h"
#include "core/settings/audit_detail.h"
#include "server/api/asking.h"
#include "server/api/audit_word.h"

namespace carillon::server {

namespace {

constexpr std::chrono::milliseconds kTrailPatience = std::chrono::seconds(2);

std::string_view to_string(SignInBy by) { return by == SignInBy::link ? "link" : "key"; }

std::function<Result<bool>(Round&)> appending(Node& node, AuditWord word, AuditDetail detail) {
  return [&node, word = std::move(word), detail = std::move(detail)](Round& /*round*/) -> Result<bool> {
    TRY(node.store().admin().append_audit(word, detail));
    return true;
  };
}

void append(Services& services, const std::vector<FailedSignIns::Row>& rows) {
  Node& node = services.host.node();
  for (const FailedSignIns::Row& row : rows) {
    JsonObject fields;
    fields.text("by", row.way).text("peer", row.peer).integer("count", static_cast<std::int64_t>(row.count));
    put(fields, "first_at", std::optional(row.first));
    put(fields, "last_at", std::optional(row.last));
    node.post<bool>(appending(node, {.tenant = {}, .actor = "nobody", .action = "session.fail", .target = "session"},
                              new_fields(fields)),
                    [](const Result<bool>&) {});
  }
}

}  // namespace

void note_sign_in(Services& services, const Caller& caller, SignInBy by, const std::string& peer) {
  JsonObject fields;
  fields.text("by", to_string(by)).text("peer", peer).text("scope", to_string(caller.scope));
  Node& node = services.host.node();
  // Waited for, so that who has signed in finds it there.
  ask_within<bool>(node, kTrailPatience,
                   appending(node, word_of(caller, "", "session.begin", "session"), new_fields(fields)));
}

void note_sign_out(Services& services, const Caller& caller) {
  Node& node = services.host.node();
  ask_within<bool>(node, kTrailPatience,
                   appending(node, word_of(caller, "", "session.end", "session"),
                             old_fields(JsonObject().text("scope", to_string(caller.scope)))));
}

void note_failed_sign_in(Services& services, SignInBy by, const std::string& peer) {
  append(services, services.failed_sign_ins.note(std::string(to_string(by)), peer, Services::real_now()));
}

void write_failed_sign_ins(Services& services) {
  append(services, services.failed_sign_ins.take_over(Services::real_now()));
}

}  // namespace carillon::server
