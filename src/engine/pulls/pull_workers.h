// Which workers outside there are: who asked, who holds leases, and when each was last heard of. Any thread.
//
// Names and filters are what callers choose, so both are bounded. Those who ask for the same tenants are a party: when
// there are too many, the party that has most of them forgets its own, and no other's.
#pragma once

#include <compare>
#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/pulls/pull.h"

namespace carillon {

class PullWorkers {
 public:
  // Beyond it those go that hold nothing.
  static constexpr std::size_t kWorkersMax = 10'000;
  // Of all filters; beyond it those go that asked longest ago.
  static constexpr std::size_t kFilterBytesMax = std::size_t{8} << 20U;

  PullWorkers() = default;
  PullWorkers(const PullWorkers&) = delete;
  PullWorkers& operator=(const PullWorkers&) = delete;
  ~PullWorkers() = default;

  // Workers of the same name that ask for different tenants are different ones.
  struct Key {
    NameSet tenants;  // that it asked for; empty: all
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
  std::size_t filter_bytes() const;

 private:
  struct Worker;
  using Workers = std::map<std::string, Worker>;
  using Line = std::list<Workers::iterator>;
  struct Worker {
    Instant last_seen;
    BootTime asks_until{};
    std::vector<PullFilter> filters;            // of its last calls
    std::map<std::string, std::size_t> leases;  // by tenant
    std::optional<Line::iterator> in_idle;      // holds nothing
    std::optional<Line::iterator> in_asking;    // has filters
  };
  struct Party {
    Workers workers;
    Line idle;    // who was heard of longest ago comes first
    Line asking;  // who asked longest ago comes first
    std::size_t filter_bytes = 0;
  };
  using Parties = std::map<NameSet, Party>;

  struct Found {
    Party& party;
    Workers::iterator worker;
  };
  Found find_or_make(const Key& key);
  void remove(Party& party, Workers::iterator worker);
  void drop_filters(Party& party, Worker& worker);
  void bound_workers();
  void bound_filters();

  mutable std::mutex mutex_;
  Parties parties_;
  std::size_t workers_ = 0;       // of all
  std::size_t filter_bytes_ = 0;  // of all
};

}  // namespace carillon
