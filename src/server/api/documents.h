// Documents that tenants keep under a name: /v1/tenants/{tenant}/KINDs/{name}. Each write leaves its word in the audit
// trail, in the same transaction.
#pragma once

#include <string>
#include <string_view>

#include "server/api/services.h"

namespace carillon::server {

// Of the tenant and the name that the call's path says.
Result<void> put_document(Services& services, const RouteCall& call, std::string_view kind, std::string body);
Result<void> delete_document(Services& services, const RouteCall& call, std::string_view kind);

}  // namespace carillon::server
