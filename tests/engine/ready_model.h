// What a ready set may do, worked out anew for every question: no heaps, no rings, no events.
//
// Rates are judged by LimitState, which has tests of its own; everything that is counted is counted from the list of
// what runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/policies/limit.h"
#include "core/policies/limit_share.h"
#include "engine/ready/ready_entry.h"

namespace carillon::test {

class ReadyModel {
 public:
  using Queue = std::pair<std::string, std::string>;     // tenant, queue
  using LimitKey = std::pair<std::string, std::string>;  // tenant or "", name

  // Rules, to be written directly.
  bool all_closed = false;
  std::set<std::string> closed_tenants;
  std::set<std::string> quiet_tenants;
  std::set<Queue> closed_queues;
  std::set<std::int64_t> closed_types;
  std::map<std::string, std::uint32_t> tenant_caps;
  std::map<Queue, std::uint32_t> queue_caps;
  std::map<std::string, std::uint32_t> weights;
  std::set<std::string> tenants;  // that are known, by whatever was said of them
  void set_limit(const LimitKey& key, const std::optional<LimitRule>& rule, Instant now);

  void add(const ReadyPlace& place, const ReadyEntry& entry);
  std::size_t size() const;
  const std::vector<ReadyPlace>& running() const { return running_; }

  // Whether that entry waits there, may start, and is one of the two that its place may offer.
  bool may_start(const ReadyPlace& place, const ReadyEntry& entry, Instant now);
  bool may_anything_start(Instant now);
  // When time alone may let something start at the earliest.
  std::optional<Instant> next_opening(Instant now);

  void start(const ReadyPlace& place, const ReadyEntry& entry, Instant now);
  void adopt(const ReadyPlace& place);
  void end(const ReadyPlace& place);
  void give_back(const ReadyPlace& place, Instant now);
  void rate_limited(const ReadyPlace& place, const std::string& limit, Instant until, Instant now,
                    bool may_teach_global);

 private:
  bool gates_open(const ReadyPlace& place) const;
  bool caps_open(const ReadyPlace& place) const;
  bool limits_open(const ReadyPlace& place, Instant now);
  std::optional<LimitKey> effective(const std::string& tenant, const std::string& name) const;
  std::size_t running_under(const LimitKey& key) const;
  // The same of one tenant.
  std::size_t running_under(const LimitKey& key, const std::string& tenant) const;
  std::uint32_t weight_of(const std::string& tenant) const;
  bool slots_open(const std::string& tenant, const LimitKey& key) const;
  // What the tenant's own word has closed.
  Opening closing(const std::string& tenant, const LimitKey& key, Instant now);

  struct Limit {
    LimitRule rule;
    LimitState rate;  // without the concurrency
  };
  std::map<LimitKey, Limit> limits_;
  std::map<LimitKey, LimitState> closings_;  // of global limits, by tenant and name
  std::vector<std::pair<ReadyPlace, ReadyEntry>> entries_;
  std::vector<ReadyPlace> running_;
};

}  // namespace carillon::test
