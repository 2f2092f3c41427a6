// Reads back, after a start, what the memory of a node holds: rules, schedules, queued jobs. It goes in pages, one a
// round, and jobs are dispatched meanwhile. Later it brings in far-off jobs shortly before they are due.
//
// Called inside of a round's transaction.
#pragma once

#include <algorithm>
#include <set>
#include <span>
#include <unordered_set>

#include "engine/calls/bulk.h"
#include "engine/calls/import_work.h"
#include "engine/planning/planner.h"
#include "engine/ready/dispatcher.h"
#include "engine/round/round.h"
#include "engine/upkeep/rule_book.h"
#include "engine/upkeep/tenant_erasure.h"
#include "store/store.h"

namespace carillon {

class Loader {
 public:
  Loader(Store& store, Dispatcher& dispatcher, Planner& planner, RuleBook& rules, BulkWork& bulk, ImportWork& imports,
         TenantErasure& erasure)
      : store_(store),
        dispatcher_(dispatcher),
        planner_(planner),
        rules_(rules),
        bulk_(bulk),
        imports_(imports),
        erasure_(erasure) {}
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader() = default;

  // Rules, and who follows whom, must be known before the first job starts.
  bool has_rules() const { return stage_ > Stage::followers; }
  bool is_done() const { return stage_ == Stage::done; }
  Result<void> step(Round& round);
  // After a commit whose answer was lost the memory may have missed a change: rules and schedules are read once more.
  void reload();
  // They became ready while it reads, and stand in memory already: it steps over them.
  void step_over(std::span<const ReadyJob> jobs, Instant now);

  // Jobs due by then are in memory; later ones are on disk.
  Instant horizon() const { return std::max(horizon_, reading_to_); }
  // Brings in what falls due within the next minutes. Call it every tick.
  Result<void> load_later(Round& round);

 private:
  enum class Stage : std::uint8_t { rules, followers, schedules, jobs, done };

  Result<void> load_rules(Round& round);
  Result<void> load_jobs(Round& round);
  bool will_find(const ReadyJob& job, Instant now) const;

  Store& store_;
  Dispatcher& dispatcher_;
  Planner& planner_;
  RuleBook& rules_;
  BulkWork& bulk_;
  ImportWork& imports_;
  TenantErasure& erasure_;
  Stage stage_ = Stage::rules;
  std::set<DocumentKey> documents_;  // that this reading has met
  DocumentKey rules_to_;
  JobId jobs_to_;
  bool has_jobs_ = false;  // all of them have been read
  std::unordered_set<JobId> stepped_over_;
  Instant horizon_ = kInstantMin;
  // What this very round has read: what it makes behind that, and before the end of it, nobody will read again.
  Instant reading_to_ = kInstantMin;
};

}  // namespace carillon
