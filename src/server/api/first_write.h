// Writes under a tenant. The first makes it: once the write is done and before that is answered. One that is refused
// makes nothing.
#pragma once

#include <memory>
#include <string>

#include "server/api/services.h"
#include "server/http/reply.h"

namespace carillon::server {

// A reply that lets a success through when `tenant` exists. `actor` is who made it. The services must outlive it.
Reply making_tenant(Services& services, std::string tenant, std::string actor, Reply reply);

// A reply of a call that writes under a tenant: it holds what `Tenants::enter` gave until it is answered.
Reply writing_under(std::shared_ptr<void> held, Reply reply);

}  // namespace carillon::server
