#include "server/api/documents.h"

#include <fmt/format.h>

#include <utility>

#include "engine/commands/documents.h"
#include "server/api/audit_word.h"

namespace carillon::server {

namespace {

DocumentKey key_of(const RouteCall& call, std::string_view kind) {
  return {.tenant = call.tenant(), .kind = std::string(kind), .name = call.params[1]};
}

}  // namespace

Result<void> put_document(Services& services, const RouteCall& call, std::string_view kind, std::string body) {
  return services.host.commands().ask(
      command::PutDocument{.key = key_of(call, kind),
                           .body = std::move(body),
                           .word = word_of(call.caller, call.tenant(), fmt::format("{}.put", kind), call.params[1])});
}

Result<void> delete_document(Services& services, const RouteCall& call, std::string_view kind) {
  return services.host.commands().ask(command::DeleteDocument{
      .key = key_of(call, kind),
      .word = word_of(call.caller, call.tenant(), fmt::format("{}.delete", kind), call.params[1])});
}

}  // namespace carillon::server
