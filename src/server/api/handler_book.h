// Who runs which types without code: the operator's commands and mails for all tenants, webhooks of each tenant.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "server/handlers/webhook_config.h"

namespace carillon::server {

inline constexpr std::string_view kHandlerKind = "handler";  // name: the type

class HandlerBook {
 public:
  HandlerBook() = default;
  HandlerBook(const HandlerBook&) = delete;
  HandlerBook& operator=(const HandlerBook&) = delete;
  ~HandlerBook() = default;

  // Before the engine starts.
  void add_own(std::string type) { own_.insert(std::move(type)); }

  // Any thread.
  void put(std::string_view tenant, std::string_view type, WebhookConfig config);
  void remove(std::string_view tenant, std::string_view type);
  std::optional<WebhookConfig> webhook(std::string_view tenant, std::string_view type) const;
  bool is_own(std::string_view type) const { return own_.contains(type); }
  bool serves(std::string_view tenant, std::string_view type) const;

 private:
  std::set<std::string, std::less<>> own_;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, WebhookConfig> webhooks_;
};

}  // namespace carillon::server
