// What is ready and what will be soon: the ready set, and before it those whose time has not come.
#pragma once

#include <cstdint>
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
#include "engine/pulls/pull.h"
#include "engine/ready/ready_set.h"
#include "store/job_store.h"

namespace carillon {

inline ReadyEntry entry_of(const ReadyJob& job) {
  return {.id = job.id, .run_at = job.run_at, .priority = job.priority};
}

// The places that a filter means, as far as they were looked at.
class PullView {
 public:
  explicit PullView(PullFilter filter) : filter_(std::move(filter)) {}

  const PullFilter& filter() const { return filter_; }
  std::span<const PlaceId> places() const { return places_; }
  bool contains(PlaceId place) const { return place.value < has_.size() && has_[place.value]; }

 private:
  friend class Dispatcher;
  PullFilter filter_;
  std::vector<PlaceId> places_;
  std::vector<bool> has_;  // by place; its size is how far was looked
};

class Dispatcher {
 public:
  explicit Dispatcher(JobStore& jobs) : jobs_(jobs) {}
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  ~Dispatcher() = default;

  ReadySet& ready() { return ready_; }
  const ReadySet& ready() const { return ready_; }

  // From now on, what it does not serve stays where it is. Asked once for each type of a tenant, until that changes.
  using Serves = std::function<bool(std::string_view tenant, std::string_view type)>;
  void serve_only(Serves serves);
  // What jobs of a type take besides the limits that they name. Asked as `serves` is.
  using TypeLimits = std::function<std::vector<std::string>(std::string_view tenant, std::string_view type)>;
  void limit_types(TypeLimits limits);
  // Which jobs hold a slot without using it, because they wait for somebody outside (webhooks). They share the slots as
  // a global limit is shared: those of one tenant leave some to others, however long they wait. Asked as `serves` is.
  void share_slots(Serves waits_outside);
  // So many there are from now on.
  void set_slots(std::size_t slots, Instant now);
  // What these say of this tenant ("": of any) is another thing now.
  void serving_changed(std::string_view tenant);
  bool serves(std::string_view tenant, std::string_view type) const { return !serves_ || serves_(tenant, type); }

  // Inside of a transaction.
  PlaceId place(const ReadyPlace& place);

  // Inside of a transaction: it asks the store for lanes, and for what limits and gates need. Jobs due after `horizon`
  // stay on disk. Each stands once: who adds one that stands already says that it has left.
  Result<void> add(std::span<const ReadyJob> jobs, Instant horizon, Instant now);
  // Back at a later time, memory alone: a gate opened and its jobs are spread.
  void add_later(PlaceId place, ReadyEntry entry, Instant when);
  // One that stood so does not any more: it ended, or stands elsewhere. It costs nothing until somebody counts, or its
  // turn comes. Harmless if it does not stand here.
  void left(const ReadyJob& stood);
  void left(const ReadySet::Pick& stood);
  // Where it stands, if it does: it may be another place of the same lane.
  std::optional<ReadySet::Pick> standing(const ReadyJob& job) const;
  // How many are due and wait: of all, or of one tenant.
  std::size_t due(Instant now, std::optional<std::string_view> tenant = std::nullopt);
  // Takes out all that has left. Who reads the ready set itself calls this before.
  void tidy();
  // As in the ready set, without entries that are not it any more.
  std::optional<ReadySet::Pick> pick(Instant now, ReadySet::For what);
  // Takes in the places that came since the last look.
  void look_for_places(PullView& view) const;
  // As in the ready set, without entries that are not it any more. The view has been looked at.
  ReadySet::Pulled pull(const PullView& view, std::size_t limit, Instant now);
  // Those whose time has come move into the ready set.
  void advance_to(Instant now);
  std::optional<Instant> next_due() const;
  // Those whose time has not come; some of them may have left.
  std::size_t waiting() const { return later_.size(); }

 private:
  struct Later {
    Instant when;
    ReadyEntry entry;
    PlaceId place;
    // Earliest first; the queue gives the greatest.
    friend bool operator<(const Later& a, const Later& b) {
      return std::pair(b.when, b.entry.id) < std::pair(a.when, a.entry.id);
    }
  };

  struct EntryHash {
    std::size_t operator()(const ReadyEntry& entry) const { return std::hash<JobId>()(entry.id); }
  };

  PlaceId plain_place(const ReadyJob& job, bool last_attempt);
  void push_later(const Later& later);
  Later pop_later();
  // True, once for each time that it has left.
  bool has_left(const ReadyEntry& entry);
  bool means_type(const PullFilter& filter, TypeId type) const;
  void look_at_tenants(PullView& view) const;
  void wait_for_their_own_time(Instant now);
  void know(const std::string& tenant, TypeId type);
  void ask_about(const std::string& tenant, TypeId type);

  JobStore& jobs_;
  Serves serves_;
  TypeLimits type_limits_;
  Serves waits_outside_;
  std::size_t slots_ = 0;
  ReadySet ready_;
  std::vector<Later> later_;            // a heap
  Instant spread_until_ = kInstantMin;  // until then some of these may be due: a gate let them go
  std::unordered_map<ReadyEntry, std::uint32_t, EntryHash> left_;  // how often each
  std::set<PlaceId> left_at_;                                      // the lanes where these stood
  Instant seen_ = kInstantMin;
  std::unordered_map<std::uint64_t, PlaceId> plain_places_;     // by lane and type
  std::unordered_map<std::uint64_t, PlaceId> last_places_;      // the same of last attempts
  std::map<std::string, std::set<TypeId>, std::less<>> types_;  // by tenant, of all that was ever added
  std::unordered_map<std::int64_t, std::string> type_names_;
};

}  // namespace carillon
