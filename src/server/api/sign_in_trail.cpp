#include "server/api/sign_in_trail.h"

#include <chrono>
#include <utility>

#include "base/json_writer.h"
#include "core/jobs/json_members.h"
#include "core/settings/audit_detail.h"
#include "engine/commands/documents.h"
#include "server/api/audit_word.h"

namespace carillon::server {

namespace {

constexpr std::chrono::milliseconds kTrailPatience = std::chrono::seconds(2);

std::string_view to_string(SignInBy by) { return by == SignInBy::link ? "link" : "key"; }

void append(Services& services, const std::vector<FailedSignIns::Row>& rows) {
  for (const FailedSignIns::Row& row : rows) {
    JsonObject fields;
    fields.text("by", row.way).text("peer", row.peer).integer("count", static_cast<std::int64_t>(row.count));
    put(fields, "first_at", std::optional(row.first));
    put(fields, "last_at", std::optional(row.last));
    services.host.commands().submit(
        command::AppendAudit{.word = {.tenant = {}, .actor = "nobody", .action = "session.fail", .target = "session"},
                             .detail = new_fields(fields)},
        [](const Result<void>&) {});
  }
}

}  // namespace

void note_sign_in(Services& services, const Caller& caller, SignInBy by, const std::string& peer) {
  JsonObject fields;
  fields.text("by", to_string(by)).text("peer", peer).text("scope", to_string(caller.scope));
  // Waited for, so that who has signed in finds it there.
  services.host.commands().ask_within(
      command::AppendAudit{.word = word_of(caller, "", "session.begin", "session"), .detail = new_fields(fields)},
      kTrailPatience);
}

void note_sign_out(Services& services, const Caller& caller) {
  services.host.commands().ask_within(
      command::AppendAudit{.word = word_of(caller, "", "session.end", "session"),
                           .detail = old_fields(JsonObject().text("scope", to_string(caller.scope)))},
      kTrailPatience);
}

void note_failed_sign_in(Services& services, SignInBy by, const std::string& peer) {
  append(services, services.failed_sign_ins.note(std::string(to_string(by)), peer, Services::real_now()));
}

void write_failed_sign_ins(Services& services) {
  append(services, services.failed_sign_ins.take_over(Services::real_now()));
}

}  // namespace carillon::server
