// Who runs which types without code: the operator's commands and mails, for all tenants or those that he names;
// webhooks of each tenant.
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
#include "server/auth/tenant_set.h"
#include "server/handlers/webhook_config.h"

namespace carillon::server {

inline constexpr std::string_view kHandlerKind = "handler";  // name: the type

class HandlerBook {
 public:
  // The operator's commands and mails, by type.
  struct Own {
    TenantSet tenants;                // whose jobs it runs
    std::vector<std::string> limits;  // that they take besides their own
  };
  using OwnHandlers = std::map<std::string, Own, std::less<>>;

  // Any thread. While the engine runs, it must be told that who serves which types has changed.
  void set_own(OwnHandlers own) { own_.set(std::move(own)); }
  void put(std::string_view tenant, std::string_view type, WebhookConfig config) {
    webhooks_.put(tenant, type, std::move(config));
  }
  void remove(std::string_view tenant, std::string_view type) { webhooks_.remove(tenant, type); }
  void remove_all(std::string_view tenant) { webhooks_.remove_all(tenant); }
  std::optional<WebhookConfig> webhook(std::string_view tenant, std::string_view type) const {
    return webhooks_.find(tenant, type);
  }
  // Whether the operator's own handler runs the tenant's jobs of this type.
  bool is_own(std::string_view tenant, std::string_view type) const {
    const auto own = own_.get();
    const auto found = own->find(type);
    return found != own->end() && found->second.tenants.has(tenant);
  }
  bool serves(std::string_view tenant, std::string_view type) const;
  // That jobs of the type take besides their own.
  std::vector<std::string> limits(std::string_view tenant, std::string_view type) const;

 private:
  Replaceable<OwnHandlers> own_;
  TenantBook<WebhookConfig> webhooks_;
};

}  // namespace carillon::server
