#include "server/api/documents.h"

#include <fmt/format.h>

#include <utility>

#include "server/api/audit_word.h"

namespace carillon::server {

namespace {

DocumentKey key_of(const RouteCall& call, std::string_view kind) {
  return {.tenant = call.tenant(), .kind = std::string(kind), .name = call.params[1]};
}

}  // namespace

Result<void> put_document(Services& services, const RouteCall& call, std::string_view kind, std::string body) {
  Node& node = services.host.node();
  TRY(node.call<Document>([&](Round& /*round*/) {
    return node.store().admin().put_document(
        {.key = key_of(call, kind), .body = std::move(body)},
        word_of(call.caller, call.tenant(), fmt::format("{}.put", kind), call.params[1]));
  }));
  return {};
}

Result<void> delete_document(Services& services, const RouteCall& call, std::string_view kind) {
  Node& node = services.host.node();
  return node.call<void>([&](Round& /*round*/) {
    return node.store().admin().delete_document(
        key_of(call, kind), word_of(call.caller, call.tenant(), fmt::format("{}.delete", kind), call.params[1]));
  });
}

}  // namespace carillon::server
