// What tenants have set under names, held in memory for whoever asks on any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace carillon::server {

template <typename Value>
class TenantBook {
 public:
  TenantBook() = default;
  TenantBook(const TenantBook&) = delete;
  TenantBook& operator=(const TenantBook&) = delete;
  ~TenantBook() = default;

  void put(std::string_view tenant, std::string_view name, Value value) {
    const std::scoped_lock lock(mutex_);
    values_.insert_or_assign(std::pair(std::string(tenant), std::string(name)), std::move(value));
  }
  void remove(std::string_view tenant, std::string_view name) {
    const std::scoped_lock lock(mutex_);
    values_.erase(std::pair(std::string(tenant), std::string(name)));
  }
  // All that the tenant has set.
  void remove_all(std::string_view tenant) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(values_, [&](const auto& one) { return one.first.first == tenant; });
  }
  std::optional<Value> find(std::string_view tenant, std::string_view name) const {
    const std::scoped_lock lock(mutex_);
    const auto found = values_.find(std::pair(std::string(tenant), std::string(name)));
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Value> values_;
};

}  // namespace carillon::server
