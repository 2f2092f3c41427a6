// The limits of the ready set: what is left of each, and the lines that wait for it.
//
// A name in a place means the tenant's own limit if it has a rule, else the global one if it has a rule, else nothing.
// Each (tenant, name) that was ever named is counted whether it has a rule or not, so that a rule which comes, changes
// or goes finds the right number of running attempts. (invariant 6)
//
// A tenant's word about a global limit closes it for that tenant: the tenant's own counter of that name, which has no
// rule, holds the closing. Of a global concurrency a tenant has a fair share (core/limit_share.h); who is short of it
// waits at that counter too, and not at the limit, which is open to others. Whoever sets a limit opens it for all.
//
// A line that is held waits at one limit that holds it. Nobody looks at it until that limit lets something start: a
// slot returns, a rule changes, or its time comes. Then lines are woken one by one, tenants and lanes in fair turns,
// and not all at once: who finds the limit used up again goes back to waiting.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/policies/limit.h"
#include "core/policies/limit_share.h"
#include "engine/ready/ready_line.h"
#include "engine/ready/ready_turns.h"

namespace carillon {

inline constexpr std::uint32_t kEveryTenant = UINT32_MAX;

// The global limit of jobs that wait for somebody outside while they hold a slot: as many as there are slots, of which
// each tenant has its share. No limit that people name has a space in it. It stands last: where it blocks, no other
// does.
inline constexpr std::string_view kOutsideShare = "outside share";
inline constexpr std::string_view kHeldByShare = "cap:webhooks";  // what explain says of it

class ReadyLimits {
 public:
  // Every step is counted there.
  explicit ReadyLimits(std::uint64_t* steps) : steps_(steps) {}
  ReadyLimits(const ReadyLimits&) = delete;
  ReadyLimits& operator=(const ReadyLimits&) = delete;
  ~ReadyLimits() = default;

  // The number of a tenant's limit, or of a global one: tenant kEveryTenant.
  std::uint32_t intern(std::uint32_t tenant, std::string_view name);
  const std::optional<LimitRule>& rule(std::uint32_t limit) const { return limits_[limit].rule; }

  // Of how many tenants somebody knows, and what a tenant's share is measured by.
  void set_tenant_count(std::size_t count, Instant now);
  void set_weight(std::uint32_t tenant, std::uint32_t weight, Instant now);
  // A tenant is gone: what its word has closed is open again. Gives back the lines that waited for that.
  std::vector<ReadyLine*> forget(std::uint32_t tenant, Instant now);
  const std::string& name(std::uint32_t limit) const { return limits_[limit].name; }

  // Also if it is the same one: what was closed is open, what was learnt is forgotten, for all tenants that draw on it.
  // Gives back the lines that wait for something else now, or for nothing.
  std::vector<ReadyLine*> set_rule(std::uint32_t limit, const std::optional<LimitRule>& rule, Instant now);

  // The line draws on these from now on, and so do its attempts under way. It waits for none.
  void set_limits(ReadyLine& line, std::vector<std::uint32_t> limits, Instant now);

  // The first of the line's limits that lets nothing start now.
  std::optional<std::uint32_t> blocking(const ReadyLine& line, Instant now);
  // All of them, in the order in which the line draws on them.
  struct Blocked {
    std::uint32_t limit = 0;
    std::optional<Instant> until;  // nothing starts under it before, whoever ends; nothing: when one ends
  };
  std::vector<Blocked> all_blocking(const ReadyLine& line, Instant now);
  // When time alone lets one start under `limit`, which lets none now.
  std::optional<Instant> opens_at(std::uint32_t limit, Instant now);

  // Whether one of them is a rate.
  bool is_rated(const ReadyLine& line) const;

  // One of the line starts; nothing blocks it. All its limits are taken.
  void take(const ReadyLine& line, Instant now);
  void give_back(const ReadyLine& line, Instant now);
  void end(const ReadyLine& line, Instant now);
  void adopt(const ReadyLine& line, Instant now);

  struct Word {
    Instant until;
    bool may_teach_global = false;
  };
  // The provider behind `limit`, a tenant's, has said that it was too much. The number of what is closed by it, for
  // `draws_on`; nothing if no rule stands behind it.
  std::optional<std::uint32_t> rate_limited(std::uint32_t limit, const Word& word, Instant now);
  bool draws_on(const ReadyLine& line, std::uint32_t limit) const;

  // The line waits for `limit`, which blocks it. Its tenant has this weight.
  void park(ReadyLine& line, std::uint32_t limit, std::uint32_t weight, Instant now);
  // It waits no longer.
  void unpark(ReadyLine& line);
  // A line that waits was added to.
  void update(ReadyLine& line);

  // Looks at the limits whose time has come.
  void advance(Instant now);
  // How many limits may have something to wake.
  std::size_t open_count() const { return open_.size(); }
  // Takes one line from the next limit that is open and waited for; it may find another of its limits in its way.
  ReadyLine* wake(Instant now);
  // When time alone opens a limit that is waited for.
  std::optional<Instant> next_opening() const;

 private:
  struct Limit {
    Limit(std::string limit_name, std::uint32_t tenant_number, std::uint32_t global_limit, std::uint64_t* steps)
        : name(std::move(limit_name)), tenant(tenant_number), global(global_limit), waiting(steps) {}
    std::string name;
    std::uint32_t tenant;  // whose it is, or kEveryTenant
    std::uint32_t global;  // the one of the same name; its own number if it is that
    std::optional<LimitRule> rule;
    LimitState state{LimitRule{}, kInstantMin};
    ReadyTurns waiting;
    bool listed = false;              // in open_
    std::optional<Instant> timed_at;  // in timed_
    std::uint64_t weight = 0;         // of a tenant's: what it counts for among the global one's holders

    // Of a global one.
    std::vector<std::uint32_t> owns;         // the tenants' of its name
    std::set<std::uint32_t> short_of_share;  // of these, those that are waited for though the tenant has no rule
    std::size_t holders = 0;                 // tenants that hold some of it
    std::uint64_t weights = 0;               // theirs

    bool is_ruled() const { return rule.has_value(); }
  };

  std::uint32_t effective(std::uint32_t limit) const {
    return limits_[limit].is_ruled() ? limit : limits_[limit].global;
  }
  bool is_global(std::uint32_t limit) const { return limits_[limit].global == limit; }
  // What a number itself lets start: a limit by its rule; a tenant's without one by what the tenant's word has closed,
  // and by its share of the global one.
  Opening opening(std::uint32_t limit, Instant now);
  // What lets nothing of a tenant's limit start now: itself, or the global one of its name.
  std::optional<std::uint32_t> blocking(std::uint32_t own, Instant now);
  // Until when time holds what draws on a tenant's limit: that one or the global one of its name, whichever is longer.
  std::optional<Instant> closed_until(std::uint32_t own, Instant now);
  bool has_share(const Limit& own) const;
  // What runs under a tenant's limit has changed, or whether that has a rule.
  void count_holder(std::uint32_t own);
  void reset(std::uint32_t limit, Instant now);
  // `count` attempts began or ceased to count on a tenant's limit, without being started or ended.
  void adopt(std::uint32_t own, std::uint32_t count, Instant now);
  void disown(std::uint32_t own, std::uint32_t count, Instant now);
  void settle(std::uint32_t limit, Instant now);
  void list(std::uint32_t limit, Instant now);
  void set_time(std::uint32_t limit, std::optional<Instant> at);
  std::vector<ReadyLine*> release_all(std::uint32_t limit);

  std::uint64_t* steps_;
  std::deque<Limit> limits_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> numbers_;
  std::deque<std::uint32_t> open_;                     // waited for, and open when last looked at
  std::set<std::pair<Instant, std::uint32_t>> timed_;  // waited for, and held by time only
  std::map<std::uint32_t, std::uint32_t> weights_;     // of tenants; 1 unless set
  std::size_t tenants_ = 0;
  Instant seen_ = kInstantMin;
};

}  // namespace carillon
