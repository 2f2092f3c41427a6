#include "server/api/handler_book.h"

namespace carillon::server {

void HandlerBook::put(std::string_view tenant, std::string_view type, WebhookConfig config) {
  const std::scoped_lock lock(mutex_);
  webhooks_.insert_or_assign(std::pair(std::string(tenant), std::string(type)), std::move(config));
}

void HandlerBook::remove(std::string_view tenant, std::string_view type) {
  const std::scoped_lock lock(mutex_);
  webhooks_.erase(std::pair(std::string(tenant), std::string(type)));
}

std::optional<WebhookConfig> HandlerBook::webhook(std::string_view tenant, std::string_view type) const {
  const std::scoped_lock lock(mutex_);
  const auto found = webhooks_.find(std::pair(std::string(tenant), std::string(type)));
  return found == webhooks_.end() ? std::nullopt : std::optional(found->second);
}

bool HandlerBook::serves(std::string_view tenant, std::string_view type) const {
  return is_own(type) || webhook(tenant, type).has_value();
}

}  // namespace carillon::server
