// Which webhook is called next: tenants take turns, and so do the hosts of a tenant.
//
// There are `at_once` places. A tenant has at most `of_one_tenant` of them, so that one whose hosts hang leaves room
// for whoever comes; a host of a tenant has at most `of_one_host`. Whatever may not be called now stands outside of the
// turns: choosing does not step over it, however much of it there is.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace carillon::server {

struct WebhookPlaces {
  std::size_t at_once = 256;
  std::size_t of_one_tenant = 128;
  std::size_t of_one_host = 64;  // of a tenant
};

template <typename Item>
class WebhookTurns {
 public:
  explicit WebhookTurns(const WebhookPlaces& places) : places_(places) {}
  WebhookTurns(const WebhookTurns&) = delete;
  WebhookTurns& operator=(const WebhookTurns&) = delete;
  ~WebhookTurns() = default;

  void add(std::string_view tenant_name, std::string_view host_name, Item item) {
    Tenant& tenant = named(tenants_, tenant_name);
    Host& host = named(tenant.hosts, host_name);
    host.waiting.push_back(std::move(item));
    list(tenant, host);
  }

  // Whether `next` gives one.
  bool has_next() const { return under_way_ < places_.at_once && !turns_.empty(); }

  struct Turn {
    std::string tenant;
    std::string host;
    Item item;
  };
  // Has a place until `ended` is called with its tenant and host. Nothing: all places are taken, or nobody may have
  // one.
  std::optional<Turn> next() {
    if (!has_next()) return std::nullopt;
    Tenant& tenant = *turns_.front();
    turns_.pop_front();
    tenant.listed = false;
    Host& host = *tenant.turns.front();
    tenant.turns.pop_front();
    host.listed = false;
    Turn turn{.tenant = tenant.name, .host = host.name, .item = std::move(host.waiting.front())};
    host.waiting.pop_front();
    ++under_way_;
    ++tenant.under_way;
    ++host.under_way;
    list(tenant, host);
    return turn;
  }

  void ended(std::string_view tenant_name, std::string_view host_name) {
    const auto tenant = tenants_.find(tenant_name);
    CHECK(tenant != tenants_.end());
    auto& hosts = tenant->second.hosts;
    const auto host = hosts.find(host_name);
    CHECK(host != hosts.end() && host->second.under_way > 0);
    --under_way_;
    --tenant->second.under_way;
    --host->second.under_way;
    if (host->second.under_way == 0 && host->second.waiting.empty()) {
      hosts.erase(host);
      if (hosts.empty()) {
        tenants_.erase(tenant);
        return;
      }
      list(tenant->second);
    } else {
      list(tenant->second, host->second);
    }
  }

  // Tenants that wait or have a place.
  std::size_t tenants() const { return tenants_.size(); }

 private:
  struct Host {
    std::string name;
    std::deque<Item> waiting;
    std::size_t under_way = 0;
    bool listed = false;
  };
  struct Tenant {
    std::string name;
    std::map<std::string, Host, std::less<>> hosts;
    std::deque<Host*> turns;  // who waits, and may have a place
    std::size_t under_way = 0;
    bool listed = false;
  };

  template <typename Map>
  static auto& named(Map& map, std::string_view name) {
    auto found = map.find(name);
    if (found == map.end()) {
      found = map.try_emplace(std::string(name)).first;
      found->second.name = name;
    }
    return found->second;
  }

  void list(Tenant& tenant, Host& host) {
    if (!host.listed && !host.waiting.empty() && host.under_way < places_.of_one_host) {
      host.listed = true;
      tenant.turns.push_back(&host);
    }
    list(tenant);
  }
  void list(Tenant& tenant) {
    if (tenant.listed || tenant.turns.empty() || tenant.under_way >= places_.of_one_tenant) return;
    tenant.listed = true;
    turns_.push_back(&tenant);
  }

  const WebhookPlaces places_;
  std::map<std::string, Tenant, std::less<>> tenants_;
  std::deque<Tenant*> turns_;  // who waits, and may have a place
  std::size_t under_way_ = 0;
};

}  // namespace carillon::server
