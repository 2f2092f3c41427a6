// Which workers outside there are: who asked, who holds leases, and when each was last heard of. Any thread.
#pragma once

#include <compare>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/pull.h"

namespace carillon {

class PullWorkers {
 public:
  // Workers of the same name that ask for different tenants are different ones.
  struct Key {
    std::vector<std::string> tenants;  // that it asked for; empty: all
    std::string name;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  void seen(const Key& worker, Instant now);
  // It asks, or has just asked, for what the filter means: by our own boot clock, as waits do not follow a rehearsal.
  void asked(const Key& worker, const PullFilter& filter, BootTime until);
  // Whether one that is there takes such jobs: it holds a lease, or has asked within the last half minute.
  struct Wanted {
    std::string_view tenant;
    std::string_view queue;
    std::string_view type;
  };
  bool has_one_for(const Wanted& job, BootTime boot) const;
  void leased(const Key& worker, const std::string& tenant);
  void ended(const Key& worker, const std::string& tenant);

  // Those that ask for one of these tenants or hold a lease of one, with the leases of these alone; empty: all. Who has
  // not been heard of for an hour and holds nothing is left out.
  std::vector<PullWorker> list(const std::vector<std::string>& tenants, Instant now) const;

 private:
  struct Worker {
    Instant last_seen;
    BootTime asks_until{};
    std::vector<PullFilter> filters;            // of its last calls
    std::map<std::string, std::size_t> leases;  // by tenant
  };
  void forget_old(Instant now);

  mutable std::mutex mutex_;
  std::map<Key, Worker> workers_;
};

}  // namespace carillon
