// Who runs which types without code: the operator's commands and mails for all tenants, webhooks of each tenant.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/api/tenant_book.h"
#include "server/handlers/webhook_config.h"

namespace carillon::server {

inline constexpr std::string_view kHandlerKind = "handler";  // name: the type

class HandlerBook {
 public:
  // Before the engine starts. Jobs of the type take these limits besides their own.
  void add_own(std::string type, std::vector<std::string> limits) {
    own_.insert_or_assign(std::move(type), std::move(limits));
  }

  // Any thread.
  void put(std::string_view tenant, std::string_view type, WebhookConfig config) {
    webhooks_.put(tenant, type, std::move(config));
  }
  void remove(std::string_view tenant, std::string_view type) { webhooks_.remove(tenant, type); }
  std::optional<WebhookConfig> webhook(std::string_view tenant, std::string_view type) const {
    return webhooks_.find(tenant, type);
  }
  bool is_own(std::string_view type) const { return own_.contains(type); }
  bool serves(std::string_view tenant, std::string_view type) const;
  // That jobs of the type take besides their own.
  std::vector<std::string> limits(std::string_view tenant, std::string_view type) const;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> own_;  // limits by type
  TenantBook<WebhookConfig> webhooks_;
};

}  // namespace carillon::server
