// Who runs which types without code: the operator's commands and mails for all tenants, webhooks of each tenant.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/replaceable.h"
#include "server/api/tenant_book.h"
#include "server/handlers/webhook_config.h"

namespace carillon::server {

inline constexpr std::string_view kHandlerKind = "handler";  // name: the type

class HandlerBook {
 public:
  // The operator's, by type. Jobs of the type take these limits besides their own.
  struct Own {
    std::vector<std::string> limits;
  };
  using OwnHandlers = std::map<std::string, Own, std::less<>>;

  // Any thread. While the engine runs, it must be told that who serves which types has changed.
  void set_own(OwnHandlers own) { own_.set(std::move(own)); }
  void put(std::string_view tenant, std::string_view type, WebhookConfig config) {
    webhooks_.put(tenant, type, std::move(config));
  }
  void remove(std::string_view tenant, std::string_view type) { webhooks_.remove(tenant, type); }
  std::optional<WebhookConfig> webhook(std::string_view tenant, std::string_view type) const {
    return webhooks_.find(tenant, type);
  }
  bool is_own(std::string_view type) const { return own_.get()->contains(type); }
  bool serves(std::string_view tenant, std::string_view type) const;
  // That jobs of the type take besides their own.
  std::vector<std::string> limits(std::string_view tenant, std::string_view type) const;

 private:
  Replaceable<OwnHandlers> own_;
  TenantBook<WebhookConfig> webhooks_;
};

}  // namespace carillon::server
