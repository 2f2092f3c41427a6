// What a node consists of: its memory, the parts of its rounds in their order, and what operations ask of both.
//
// Only the driver touches it, but for what says otherwise.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bell.h"
#include "engine/attempts/attempts.h"
#include "engine/attempts/beats.h"
#include "engine/attempts/claims.h"
#include "engine/attempts/finished.h"
#include "engine/attempts/leasing.h"
#include "engine/attempts/recovery.h"
#include "engine/attempts/runner.h"
#include "engine/attempts/settlements.h"
#include "engine/calls/bulk.h"
#include "engine/calls/import_work.h"
#include "engine/planning/following.h"
#include "engine/planning/planner.h"
#include "engine/planning/planning.h"
#include "engine/pulls/adopted_leases.h"
#include "engine/pulls/pull_words.h"
#include "engine/pulls/pulls.h"
#include "engine/ready/dispatcher.h"
#include "engine/ready/loader.h"
#include "engine/ready/queue_follower.h"
#include "engine/ready/reading.h"
#include "engine/round/calls.h"
#include "engine/round/commits.h"
#include "engine/round/inbox.h"
#include "engine/round/part.h"
#include "engine/round/readiness.h"
#include "engine/telling/levels.h"
#include "engine/telling/outcomes.h"
#include "engine/telling/telling.h"
#include "engine/upkeep/background.h"
#include "engine/upkeep/gates.h"
#include "engine/upkeep/rule_book.h"
#include "engine/upkeep/tenant_erasure.h"
#include "engine/upkeep/upkeep.h"
#include "store/store.h"

namespace carillon {

struct NodeOptions {
  std::string worker = "engine";
  std::uint32_t max_concurrency = 8;
  std::size_t prefetch_max = 1000;  // claims that may wait for a slot, of each runner
  std::size_t claims_max = 1000;    // in one round
  Duration tick = std::chrono::seconds(1);
  Duration retention = std::chrono::days(7);
  Duration prune_every = std::chrono::minutes(1);  // by the wall clock
  bool threaded = true;
  bool posts_wait = false;  // driven by hand: what is posted waits for the next step, as it does with a thread
  RuleBook::Base rules;
};

class NodeParts {
 public:
  NodeParts(const NodeParts&) = delete;
  NodeParts& operator=(const NodeParts&) = delete;

  // ---- Before the first step ----
  void set_runner(Runner& runner) { claims_.set_runner(runner); }
  void add_listener(EventListener listener) { telling_.add_listener(std::move(listener)); }
  // Called on the driver's thread, when nothing is left of a tenant that was deleted.
  void on_tenant_erased(std::function<void(const std::string&)> told) { tenant_erased_ = std::move(told); }
  // With it, what it does not serve stays queued, or is taken by workers outside.
  void serve_only(Dispatcher::Serves serves) { dispatcher_.serve_only(std::move(serves)); }
  void limit_types(Dispatcher::TypeLimits limits) { dispatcher_.limit_types(std::move(limits)); }
  void ask_for_room(JobRoom room) { bulk_.ask_for_room(std::move(room)); }
  void share_slots(Dispatcher::Serves waits_outside) { dispatcher_.share_slots(std::move(waits_outside)); }
  std::shared_ptr<FinishedQueue> finished() { return finished_; }
  std::shared_ptr<Slots> slots() { return slots_; }
  Bell& bell() { return *bell_; }

  // ---- For operations, inside of a round ----
  NodeLevels levels(const Round& round) { return levels_.of_all(round); }
  // What is theirs alone; how busy the node is, is not told.
  NodeLevels levels_of(const std::vector<std::string>& tenants, Instant now) { return levels_.of(tenants, now); }
  Store& store() { return store_; }
  Planner& planner() { return planner_; }
  BulkWork& bulk() { return bulk_; }
  ImportWork& imports() { return imports_; }
  TenantErasure& erasure() { return erasure_; }
  RuleBook& rules() { return rules_; }
  const RuleBook& rules() const { return rules_; }
  // A handler that runs is asked to stop, after the commit.
  void ask_to_stop(Round& round, JobId job) { attempts_.ask_to_stop(round, job); }
  // Attempts of a schedule that is paused or disabled do not start, after the commit.
  void take_back_of(Round& round, std::string_view tenant, std::string_view schedule,
                    std::optional<std::string_view> subject = std::nullopt) {
    attempts_.take_back_of(round, tenant, schedule, subject);
  }
  void apply_document(Round& round, const DocumentKey& key, std::optional<std::string> body);
  // What `serve_only` says of this tenant ("": of any) has changed. After a commit, or on the driver's thread.
  void serving_changed(std::string_view tenant);
  // What stands in the way of a job where it is, for explain.
  PlaceHolds holds(const JobInfo& job, TypeId type, const Round& round) { return levels_.holds(job, type, round); }

  // ---- For workers outside, inside of a round ----
  Result<void> add_pull(Round& round, const PullCallPtr& call) { return pulls_.add(round, call); }
  Result<std::vector<Result<BeatAnswer>>> extend_pulled(Round& round, const std::vector<PullBeat>& beats) {
    return pull_words_.extend(round, beats);
  }
  Result<std::vector<Result<WordAnswer>>> settle_pulled(Round& round, const std::vector<PullWord>& words) {
    return pull_words_.settle(round, words);
  }

  const PullDesk& desk() const { return attempts_.desk(); }
  PullWorkers& workers() { return attempts_.desk().workers(); }  // any thread
  void forget_pull(PullCallPtr call) {                           // any thread
    attempts_.desk().forget(std::move(call));
    bell_->ring();
  }
  const RunTable& runs() const { return attempts_.runs(); }
  const Dispatcher& dispatcher() const { return dispatcher_; }
  // How many jobs are queued and due, of all or of one tenant: the one number of what waits. On the driver's thread.
  std::size_t due_count(Instant now, std::optional<std::string_view> tenant = std::nullopt) {
    return levels_.due_count(now, tenant);
  }

 protected:
  // All of them must outlive the node; the runner is given before the first step.
  NodeParts(Store& store, const StoreClock& clock, NodeOptions options);
  ~NodeParts() = default;

  Store& store_;
  const StoreClock& clock_;
  const NodeOptions options_;
  std::function<void(const std::string&)> tenant_erased_;

  // Shared with handlers that may outlive the node.
  std::shared_ptr<Bell> bell_;
  std::shared_ptr<FinishedQueue> finished_;
  std::shared_ptr<Slots> slots_;

  // ---- What it remembers ----
  Inbox inbox_;
  Commits commits_;
  Telling telling_;
  RuleBook rules_;
  Dispatcher dispatcher_;
  Attempts attempts_;
  Planner planner_;
  BulkWork bulk_;
  ImportWork imports_;
  TenantErasure erasure_;
  Loader loader_;
  AdoptedLeases adopted_;
  Readiness readiness_;
  QueueFollower queue_;
  Leasing leasing_;

  // ---- The parts of a round ----
  RulesReading rules_reading_;
  Gates gates_;
  Calls calls_;
  Settlements settlements_;
  Beats beats_;
  Recovery recovery_;
  Upkeep upkeep_;
  Planning planning_;
  Background background_;
  JobsReading jobs_reading_;
  Following following_;
  Claims claims_;
  Pulls pulls_;
  Outcomes outcomes_;
  Levels levels_;
  PullWords pull_words_;
  const std::array<Part*, 15> parts_;  // in their order
};

}  // namespace carillon
