#include "server/api/handler_book.h"

namespace carillon::server {

bool HandlerBook::serves(std::string_view tenant, std::string_view type) const {
  return is_own(tenant, type) || webhook(tenant, type).has_value();
}

std::vector<std::string> HandlerBook::limits(std::string_view tenant, std::string_view type) const {
  const auto own = own_.get();
  if (const auto found = own->find(type); found != own->end() && found->second.tenants.has(tenant)) {
    return found->second.limits;
  }
  auto config = webhook(tenant, type);
  return config ? std::move(config->limits) : std::vector<std::string>();
}

}  // namespace carillon::server
