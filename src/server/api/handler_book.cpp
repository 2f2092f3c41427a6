#include "server/api/handler_book.h"

namespace carillon::server {

bool HandlerBook::serves(std::string_view tenant, std::string_view type) const {
  return is_own(tenant, type) || webhook(tenant, type).has_value();
}

std::vector<std::string> HandlerBook::limits(std::string_view tenant, std::string_view type) const {
  if (is_own(tenant, type)) return own_.find(type)->second.limits;
  auto config = webhook(tenant, type);
  return config ? std::move(config->limits) : std::vector<std::string>();
}

}  // namespace carillon::server
