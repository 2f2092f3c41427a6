// The reference as OpenAPI 3.1, from the table of routes and the schemas.
#pragma once

#include <string>

#include "server/api/route.h"

namespace carillon::server {

std::string openapi_of(const RouteTable& table);

}  // namespace carillon::server
