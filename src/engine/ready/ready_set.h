// Which due job starts next.
//
//   ReadySet ready;
//   ready.add(ready.place({.tenant = "acme", .queue = "mail", .type = type}), {.id = id, .run_at = due});
//   while (auto pick = ready.pick(now)) { ... claim it by its row: put_back, drop, or start it and later call ended ...
//   }
//
// It proposes, the row disposes: nothing here is looked up by id, and an entry whose row has moved on is harmless,
// because its claim fails. Caps and limits are counted from pick until drop, put_back, gave_back or ended, exactly one
// of which follows every pick and every adopt. (invariant 6)
//
// Tenants take turns by weight, lanes (tenant, queue) share their tenant's turn, a lane's jobs go by priority, run_at,
// id, and every 16th is the one that waits longest. (invariant 29) What is closed, capped or held by a limit stands
// outside of these orders and comes back by an event, so that a pick never steps over it, however much of it there is.
//
// Workers outside take by `pull` instead, among the places that their filter names. They have turns of their own, so
// that neither kind of taking moves the other's; caps, limits and closings are the same.
//
// No store, no clock, no threads. Places are kept for good; there are few of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/policies/limit_rule.h"
#include "engine/pulls/name_set.h"
#include "engine/ready/ready_entry.h"
#include "engine/ready/ready_limits.h"
#include "engine/ready/ready_line.h"
#include "engine/ready/ready_turns.h"

namespace carillon {

class ReadySet {
 public:
  ReadySet() : limits_(&work_), open_(&work_) {}
  ReadySet(const ReadySet&) = delete;
  ReadySet& operator=(const ReadySet&) = delete;
  ~ReadySet() = default;

  // The same place has the same id.
  PlaceId place(const ReadyPlace& place);
  const ReadyPlace& place(PlaceId id) const { return *places_[id.value]; }
  std::uint32_t place_count() const { return static_cast<std::uint32_t>(places_.size()); }
  // Of one tenant, whose type `is_meant` and whose queue is one of these (none: any). What others have costs nothing.
  std::vector<PlaceId> places_of(std::string_view tenant, const NameSet& queues,
                                 const std::function<bool(TypeId)>& is_meant) const;

  // It is due now.
  void add(PlaceId place, const ReadyEntry& entry);
  std::size_t size() const { return size_; }
  std::size_t size(std::string_view tenant) const;
  // Since when the one that waits longest is due, of all or of some tenants. Looks at every place.
  std::optional<Instant> oldest_due(const std::function<bool(std::string_view)>& of_tenant = {}) const;

  // Takes out all that stands at one tenant's places (tenant "": at all), or only at those that notify.
  struct Pick {
    PlaceId place;
    ReadyEntry entry;
  };
  std::vector<Pick> take_all(std::string_view tenant, bool only_notifying);
  // Takes out those for which `goes` is true, at the lanes of these places (nothing: of all). It is asked once of each,
  // `may_go` before it and as often as one likes.
  struct Taking {
    const std::set<PlaceId>* places = nullptr;
    ReadyLine::Which may_go;
    ReadyLine::Which goes;
  };
  std::vector<Pick> take_if(const Taking& taking);
  // The same, and leaves it where it is.
  std::vector<Pick> standing(std::string_view tenant, bool only_notifying) const;

  // Rules. Each may come at any time, also for what nobody has used yet. A cap that falls below what runs ends nothing.
  void set_weight(std::string_view tenant, std::uint32_t weight, Instant now);  // 1 unless set; 0 counts as 1
  void set_tenant_cap(std::string_view tenant, std::optional<std::uint32_t> cap);
  void set_queue_cap(std::string_view tenant, std::string_view queue, std::optional<std::uint32_t> cap);
  void set_tenant_closed(std::string_view tenant, bool closed);  // paused, or in maintenance
  void set_all_closed(bool closed) {
    all_closed_ = closed;
    ++openings_;
  }
  void set_queue_closed(std::string_view tenant, std::string_view queue, bool closed);
  void set_quiet(std::string_view tenant, bool quiet);                      // closes places that notify
  void set_type_closed(TypeId type, bool closed);                           // nobody here serves it
  void set_type_closed(std::string_view tenant, TypeId type, bool closed);  // the same, for one tenant
  // What jobs of this type draw on besides what they name themselves. What runs is counted there from now on.
  void set_type_limits(std::string_view tenant, TypeId type, const std::vector<std::string>& limits, Instant now);
  // Tenant "": for all. A place's limit is its tenant's own, else the global one, else nothing holds it. Whatever was
  // closed or learnt is open again, though the rule be the same.
  void set_limit(std::string_view tenant, std::string_view name, const std::optional<LimitRule>& rule, Instant now);
  const std::optional<LimitRule>& limit_rule(std::string_view tenant, std::string_view name);
  // There is a tenant, whether it has jobs or not: of global limits something is kept for it.
  void know_tenant(std::string_view tenant) { tenant_number(tenant); }
  // It is gone, with its rules: nothing is kept for it, and nothing of what it said holds. It is known again by its
  // next job or rule.
  void forget_tenant(std::string_view tenant, Instant now);

  // Takes the entry out and counts it on its tenant, queue and limits: on all of them, or nothing is taken. Nothing
  // only if nothing may start; or, for one that is to wait for a slot, if it may not wait whose turn it is: because a
  // rate governs it, as a start that is counted now must happen now (invariant 6); because it is on its last attempt
  // (invariant 12); or because it runs elsewhere: here, or with somebody outside.
  enum class For : std::uint8_t { a_free_slot, later, later_here, later_outside };
  std::optional<Pick> pick(Instant now, For what = For::a_free_slot);
  // Whether attempts of this place wait for somebody outside.
  bool waits_outside(PlaceId place) const { return lines_[place.value].outside; }
  // The claims are made only now: a rate counts them from here.
  void claimed_at(std::span<const Pick> picks, Instant now);
  // The claim was not made: caps, slots and tokens return, the entry stands again.
  void put_back(const Pick& pick, Instant now);
  // The row was not to be had: the same without the entry.
  void drop(const Pick& pick, Instant now);
  // The attempt is over: caps and slots are free.
  void ended(PlaceId place, Instant now);
  // The attempt was put back unstarted: tokens return too.
  void gave_back(PlaceId place, Instant now);
  // Counts an attempt that ran already; it may exceed caps and uses no tokens.
  void adopt(PlaceId place, Instant now);

  // For a worker outside: up to `limit` of what stands at `places`, each taken and counted as by pick. Tenants take
  // turns by weight, over all calls; a tenant's lanes share its turns; a lane's jobs go as in pick. Looks at every
  // place once, never at every job. `pulled_back` with or without the entry, or `ended`, follows each of them.
  struct PullRequest {
    std::span<const PlaceId> places;
    bool served_too = false;  // also types that are served here
    std::size_t limit = 1;
  };
  struct Pulled {
    std::vector<Pick> picks;
    bool held = false;                // something stands there that may not start now
    std::optional<Instant> opens_at;  // when time alone lets some of it start
  };
  Pulled pull(const PullRequest& request, Instant now);
  enum class Entry : std::uint8_t { stands_again, is_gone };
  void pulled_back(const Pick& pick, Entry entry, Instant now);

  // What those who wait outside must look at. Arrivals are collected only while somebody watches.
  void watch(bool watching) { watching_ = watching; }
  // Places to which something came since the last call, each once.
  std::vector<PlaceId> take_arrivals();
  // Grows whenever something that was held may start.
  std::uint64_t openings() const { return openings_; }

  // An attempt of this place was told to slow down. Limit "": the first. A name that the place does not have, or that
  // no rule stands behind, is ignored. A word that may not teach a global limit closes it for the place's tenant. What
  // is closed by it, for `draws_on`.
  std::optional<std::uint32_t> rate_limited(PlaceId place, std::string_view limit, Instant until, Instant now,
                                            bool may_teach_global);
  bool draws_on(PlaceId place, std::uint32_t limit) const { return limits_.draws_on(lines_[place.value], limit); }

  // The earliest instant at which time alone may let something start; to be asked when pick has given nothing.
  std::optional<Instant> next_opening(Instant now);

  // The caps and limits that let nothing of this place start now, all of them, in the words of explain: cap:tenant,
  // cap:queue, limit:NAME, cap:webhooks. (invariant 33)
  struct Held {
    std::string why;
    std::optional<Instant> until;  // when time alone opens it
  };
  std::vector<Held> held_by(PlaceId place, Instant now);
  // The first thing that lets nothing of this place start: maintenance, paused, no_worker, quiet_hours, or one of
  // those. Nothing if it may.
  std::optional<std::string> holds(PlaceId place, Instant now);
  bool is_served(PlaceId place) const { return !is_unserved(lines_[place.value]); }
  bool is_queue_closed(std::string_view tenant, std::string_view queue) const;

  // Steps in heaps and rings that picks have done so far.
  std::uint64_t steps() const { return steps_; }
  std::uint32_t running() const { return running_; }
  std::uint32_t running(std::string_view tenant) const;

 private:
  struct Tenant {
    std::uint32_t weight = 1;
    std::optional<std::uint32_t> cap;
    std::uint32_t running = 0;
    bool closed = false;
    bool quiet = false;
    bool held = false;  // as open_ knows it
    bool known = false;
    std::size_t size = 0;
    std::map<std::string, std::uint32_t, std::less<>> lanes;
    std::vector<ReadyLine*> notifying;
    struct Type {
      bool closed = false;
      bool outside = false;
      std::vector<std::string> limits;  // besides those that places name
      std::vector<ReadyLine*> lines;
    };
    std::map<TypeId, Type> types;
    std::uint64_t pull_time = 0;  // how far its turns outside have come, by weight
    std::uint64_t lane_time = 0;  // the same of the lane whose turn was last
  };
  struct Lane {
    std::uint32_t tenant = 0;
    std::optional<std::uint32_t> cap;
    std::uint32_t running = 0;
    bool closed = false;
    bool held = false;  // as open_ knows it
    std::uint64_t pull_time = 0;
    std::uint32_t pull_turns = 0;
    std::vector<const ReadyLine*> lines;
  };
  struct Type {
    bool closed = false;
    std::vector<ReadyLine*> lines;
  };

  std::uint32_t tenant_number(std::string_view name);
  void know(Tenant& tenant);
  std::uint32_t lane_number(std::uint32_t tenant, std::string_view queue);
  const Tenant* find_tenant(std::string_view name) const;

  // Of the place and of its type, each once: a limit must not stand in its own way.
  std::vector<std::uint32_t> limits_at(const ReadyPlace& place);
  bool is_unserved(const ReadyLine& line) const;
  bool is_quiet(const ReadyLine& line) const;
  bool shut(const ReadyLine& line) const;
  void stand(ReadyLine& line);
  void leave(ReadyLine& line);
  void settle(ReadyLine& line);
  void put(ReadyLine& line, const ReadyEntry& entry);
  void refresh_tenant(std::uint32_t number);
  void refresh_lane(std::uint32_t number);

  std::optional<Pick> next_pick(Instant now, For what);
  bool may_be_for(const ReadyLine& line, For what) const;
  Pick start(const ReadyTurns::Turn& turn, Instant now);
  Pick take_out(ReadyLine& line, ReadyChoice choice, Instant now);
  class PullTurns;
  bool has_room(const ReadyLine& line) const;
  bool may_be_pulled(const ReadyLine& line, Pulled& pulled, Instant now);
  enum class Count : std::uint8_t { up, down };
  void count(ReadyLine& line, Count direction);

  std::uint64_t work_ = 0;   // steps of all kinds of calls
  std::uint64_t steps_ = 0;  // of picks
  ReadyLimits limits_;
  ReadyTurns open_;

  std::unordered_map<ReadyPlace, PlaceId, ReadyPlaceHash> place_ids_;
  std::vector<const ReadyPlace*> places_;
  std::deque<ReadyLine> lines_;  // by place
  std::map<std::string, std::uint32_t, std::less<>> tenant_numbers_;
  std::deque<Tenant> tenants_;
  std::size_t known_ = 0;  // of these
  std::deque<Lane> lanes_;
  std::map<TypeId, Type> types_;

  bool all_closed_ = false;
  std::size_t size_ = 0;
  std::uint32_t running_ = 0;
  std::uint64_t pull_time_ = 0;  // of the tenant whose turn outside was last
  bool watching_ = false;
  std::vector<PlaceId> arrivals_;
  std::uint64_t openings_ = 0;
};

}  // namespace carillon
