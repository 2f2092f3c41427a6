#include "server/api/documents.h"

#include <fmt/format.h>

#include <utility>

namespace carillon::server {

namespace {

DocumentKey key_of(const RouteCall& call, std::string_view kind) {
  return {.tenant = call.tenant(), .kind = std::string(kind), .name = call.params[1]};
}

AuditWord word_of(const RouteCall& call, std::string action) {
  return {.tenant = call.tenant(), .actor = call.caller.actor(), .action = std::move(action), .target = call.params[1]};
}

}  // namespace

Result<void> put_document(Services& services, const RouteCall& call, std::string_view kind, std::string body) {
  Node& node = services.host.node();
  TRY(node.call<Document>([&](Round& /*round*/) {
    return node.store().admin().put_document({.key = key_of(call, kind), .body = std::move(body)},
                                             word_of(call, fmt::format("{}.put", kind)));
  }));
  return {};
}

Result<void> delete_document(Services& services, const RouteCall& call, std::string_view kind) {
  Node& node = services.host.node();
  return node.call<void>([&](Round& /*round*/) {
    return node.store().admin().delete_document(key_of(call, kind), word_of(call, fmt::format("{}.delete", kind)));
  });
}

}  // namespace carillon::server
