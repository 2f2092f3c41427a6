// Of which tenants somebody may know. All is said in words: a list that has become empty, or was never filled, means
// nobody.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace carillon::server {

class TenantSet {
 public:
  // Nobody.
  TenantSet() = default;
  static TenantSet all() {
    TenantSet set;
    set.all_ = true;
    return set;
  }
  // Each once, however often it is named: who adds something up over them would else count it as often.
  static TenantSet of(std::vector<std::string> names) {
    std::ranges::sort(names);
    const auto again = std::ranges::unique(names);
    names.erase(again.begin(), again.end());
    TenantSet set;
    set.names_ = std::move(names);
    return set;
  }

  bool is_all() const { return all_; }
  bool is_nobody() const { return !all_ && names_.empty(); }
  bool has(std::string_view tenant) const { return all_ || std::ranges::find(names_, tenant) != names_.end(); }
  // Those that are named; none, if it is all.
  const std::vector<std::string>& names() const { return names_; }
  // Nothing happens if it is all.
  void remove(std::string_view tenant) { std::erase(names_, tenant); }

  friend bool operator==(const TenantSet&, const TenantSet&) = default;

 private:
  bool all_ = false;
  std::vector<std::string> names_;
};

}  // namespace carillon::server
