// What operators and tenants have set, as the engine uses it: weights, caps, pauses, limits, gates, retention.
//
// The node applies documents as they are committed; handlers ask about gates from their own threads.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/policies/gate.h"
#include "core/policies/gate_history.h"
#include "core/policies/gate_history_text.h"
#include "core/policies/retention.h"
#include "core/settings/job_defaults.h"
#include "core/settings/settings.h"
#include "core/settings/tenant_bounds.h"
#include "core/time/zone.h"
#include "core/triggers/trigger.h"
#include "engine/ready/ready_set.h"
#include "store/rows.h"

namespace carillon {

// The kinds of documents.
inline constexpr std::string_view kSettingsKind = "settings";        // of a tenant
inline constexpr std::string_view kBoundsKind = "bounds";            // of a tenant: what its settings may be at most
inline constexpr std::string_view kQueueKind = "queue";              // name: the queue
inline constexpr std::string_view kLimitKind = "limit";              // name: the limit; tenant "": for all
inline constexpr std::string_view kMaintenanceKind = "maintenance";  // tenant "": for all
inline constexpr std::string_view kConfigKind = "config";            // tenant ""

// Refuses a body that cannot be read, by kind. Kinds that are not ours are left alone.
Result<void> check_document(std::string_view kind, std::string_view body);

// The whole document that `body` makes of the one before it: fields that are given replace, null clears. Limits and
// maintenance are replaced whole.
Result<std::string> merged_document(std::string_view kind, std::string_view body,
                                    std::optional<std::string_view> before);

class RuleBook {
 public:
  // What holds beside the documents: over what they say, and where they say nothing.
  struct Base {
    ConfigPins pins;
    JobDefaults job;
    WindowDefaults windows;
    bool limits_must_exist = false;  // who names one that does not is refused
  };
  RuleBook() : RuleBook(Base()) {}
  explicit RuleBook(Base base);
  RuleBook(const RuleBook&) = delete;
  RuleBook& operator=(const RuleBook&) = delete;
  ~RuleBook() = default;

  // A document as it was committed; without a body it was deleted. One that cannot be read counts for nothing. A limit
  // that somebody has set is open, though it be the same; one that was only read again stays as it is.
  enum class Why : std::uint8_t { was_set, was_read };
  void apply(const DocumentKey& key, std::optional<std::string_view> body, ReadySet& ready, Instant now,
             Why why = Why::was_set);

  // Of the documents that are applied.
  std::vector<DocumentKey> keys() const { return {keys_.begin(), keys_.end()}; }

  // Closes and opens what gates close and open at `now`. `opened` gets the tenants of which something opened.
  struct Opened {
    std::string tenant;   // "": all
    bool only_notifying;  // quiet hours ended; else maintenance did
  };
  std::vector<Opened> refresh(ReadySet& ready, Instant now);
  // Brings the history of gates up to `now`: which have closed and opened since it was last asked, and what there is to
  // write of it. Once all documents are read.
  struct NotedGates {
    struct Opening {
      std::string tenant;  // "": for all
      GateKind gate = GateKind::maintenance;
      Instant at;
    };
    std::vector<Opening> opened;
    std::vector<std::string> changed;  // whose history is another one: "" is that for all
  };
  NotedGates note_gates(Instant now, const RetentionRule& keep);
  std::vector<PastClosing> gate_history(std::string_view tenant) const;
  // Any thread: what of it held a job of this tenant.
  std::vector<GateHeld> gates_that_held(std::string_view tenant, const GateWait& wait) const;
  // When to refresh again.
  std::optional<Instant> next_change() const { return next_change_; }
  // The clock was set back behind what was looked at.
  bool is_ahead_of(Instant now) const { return refreshed_at_ > now; }

  // Any thread.
  std::optional<Closing> closed_for(std::string_view tenant, bool notifies, Instant now) const;
  // Everything of it that holds a job of this tenant, each on its own.
  struct Held {
    bool is_enabled = true;  // the engine
    bool is_paused = false;  // the tenant
    std::optional<Closing> maintenance_for_all;
    std::optional<Closing> maintenance;
    std::optional<Closing> quiet_hours;
    Zone quiet_zone = Zone::utc();
  };
  Held held(std::string_view tenant, bool notifies, Instant now) const;
  // The zone of schedules that name none.
  Zone zone_of(std::string_view tenant) const;
  // Whether anything is started at all.
  bool is_enabled() const;
  // Refuses what asks for a start while nothing is started. Errors: scheduler_disabled.
  Result<void> check_enabled() const;
  // Refuses names that no limit has, neither of the tenant's own nor of those for all, if limits must exist. What was
  // said `before` may be said again: a limit that is gone is no reason to refuse another edit.
  Result<void> check_limits(std::string_view tenant, const std::vector<std::string>& names,
                            const std::vector<std::string>& before = {}) const;
  // Those of them that no limit has: what names them runs without. None before all documents were read.
  std::vector<std::string> missing_limits(std::string_view tenant, const std::vector<std::string>& names) const;
  // Those that a tenant's jobs may name, as many as one looks at to see which was meant.
  std::vector<std::string> limit_names(std::string_view tenant) const;
  void all_are_read();
  // What a job gets that is made now.
  JobDefaults job_defaults() const;
  const WindowDefaults& windows() const { return base_.windows; }
  // As it holds: what is pinned, else what is stored.
  EngineConfig config_now() const;

  // The same, for the node itself.
  const EngineConfig& config() const { return config_; }
  bool is_paused(std::string_view tenant) const;
  RetentionRule retention(Duration otherwise) const;

 private:
  struct Tenant {
    TenantSettings own;                  // as they are stored
    std::optional<TenantBounds> bounds;  // nothing: none are stored
    TenantSettings settings;             // as they hold
    std::optional<Maintenance> maintenance;
    Zone zone = Zone::utc();                    // of its settings, else the engine's, else UTC
    Zone quiet_zone = Zone::utc();              // of its quiet hours, else `zone`
    std::optional<Instant> maintenance_set_at;  // nothing: it was read
    std::optional<Instant> quiet_set_at;
    bool closed = false;  // as the ready set was told
    bool quiet = false;
  };

  // What is known of one gate now.
  struct GateNow {
    std::string tenant;
    GateKind gate = GateKind::maintenance;
    std::optional<Closing> closed;
    Instant since;
  };
  void note_gate(const GateNow& gate, Instant now, const RetentionRule& keep, NotedGates& noted);
  // Of a clock that was set back since: what has not happened yet by the new time.
  void forget_future_closings(Instant now, NotedGates& noted);
  void forget_old_closings(const std::string& tenant, GateKind gate, Instant now, const RetentionRule& keep);
  void read_history(const std::string& tenant, std::optional<std::string_view> body);
  // The tenant's own settings or its bounds have changed.
  void bind(const std::string& name, Tenant& tenant, ReadySet& ready, Instant now) const;
  void apply_config(std::optional<std::string_view> body);
  void update_zones(Tenant& tenant) const;
  std::optional<Closing> closing_of(const Tenant* tenant, bool notifies, Instant now) const;

  const Base base_;

  // Guards all below; only the node writes, so it reads without.
  mutable std::mutex mutex_;
  std::map<std::string, Tenant, std::less<>> tenants_;
  std::set<DocumentKey> keys_;
  std::optional<Maintenance> maintenance_for_all_;
  std::optional<Instant> maintenance_for_all_set_at_;
  std::map<std::string, std::vector<PastClosing>, std::less<>> gates_;  // by closed_at
  EngineConfig config_;
  JobDefaults job_defaults_;
  Zone zone_ = Zone::utc();
  bool all_are_read_ = false;

  bool all_closed_ = false;
  std::optional<Instant> next_change_ = kInstantMin;
  Instant refreshed_at_ = kInstantMin;
};

}  // namespace carillon
