// Work over many jobs, at a rate: where it stands is a document, so that it goes on after a restart.
//
// Called inside of a round's transaction.
#pragma once

#include <carillon/client.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

inline constexpr std::string_view kBulkKind = "bulk";

// Windows made by hand, over a range. The schedule, and its subject unless all are meant, stand in the filter.
struct BackfillState {
  Instant from;
  Instant to;
  std::string subject;      // where it stands: in this one,
  std::int64_t window = 0;  // before this one of its windows
};

struct BackfillStep {
  BackfillState next;
  std::uint64_t made = 0;
  std::uint64_t refused = 0;  // subjects whose windows do not fill the range
  bool end = false;
};

struct BulkState {
  BulkInfo info;
  std::optional<BackfillState> backfill;
  std::string created_by;  // of the jobs that it makes
  JobQuery filter;
  std::optional<double> rate;
  JobId after;  // where it stands
};

// Refuses a request that does not say which jobs it means.
Result<void> check_meant(const BulkRequest& request);
// The jobs that a request means, at `now`.
JobQuery query_of(const BulkRequest& request, Instant now);
// How many live jobs match: by state and queue always, else nothing if there are more than 100,000 or if it takes
// longer than a second to know. Not inside of a transaction.
std::optional<std::uint64_t> count_matching(Store& store, const JobQuery& filter);

std::string write_bulk(const BulkState& bulk);
Result<BulkState> read_bulk(std::string_view text);

// How many more jobs a tenant may have: windows that are made by hand wait while it is none. Called on the driver's
// thread. Nothing: as many as it likes.
struct JobRoom {
  std::function<std::size_t(const std::string& tenant)> left;
  std::function<void(const std::string& tenant, std::size_t count)> made;
};

class BulkWork {
 public:
  // Asks a handler that runs to stop, once the round is committed.
  using AskToStop = std::function<void(Round&, JobId)>;
  // Makes the next windows, at most so many.
  using MakeWindows = std::function<Result<BackfillStep>(Round&, const BulkState&, std::size_t)>;

  BulkWork(Store& store, AskToStop ask_to_stop, MakeWindows make_windows)
      : store_(store), ask_to_stop_(std::move(ask_to_stop)), make_windows_(std::move(make_windows)) {}
  BulkWork(const BulkWork&) = delete;
  BulkWork& operator=(const BulkWork&) = delete;
  ~BulkWork() = default;

  struct Begin {
    BulkRequest request;
    std::optional<std::uint64_t> total;
  };
  Result<BulkInfo> begin(Round& round, const Begin& begin);
  struct BeginBackfill {
    std::string_view tenant;
    std::string_view schedule;
    std::string_view subject;  // "": all
    Instant from;
    Instant to;
    std::optional<std::uint64_t> total;
    std::string created_by;
  };
  Result<BulkInfo> begin(Round& round, const BeginBackfill& begin);
  Result<BulkInfo> stop(Round& round, std::string_view tenant, std::string_view id);
  // One that was under way when the engine ended.
  void resume(const Document& document);

  void ask_for_room(JobRoom room) { room_ = std::move(room); }

  // When the next step is due, on the boot clock; nothing if there is no work.
  std::optional<BootTime> next_at() const;
  Result<void> step(Round& round);

 private:
  struct Work {
    BulkState state;
    BootTime next_at{};
  };
  static DocumentKey key_of(const BulkState& state);
  Result<void> put(const BulkState& state);
  Result<void> step(Round& round, const Work& work);
  Result<void> step_backfill(Round& round, BulkState state);
  void remember(Round& round, const BulkState& state, BootTime next_at);

  Store& store_;
  AskToStop ask_to_stop_;
  MakeWindows make_windows_;
  JobRoom room_;
  std::map<std::pair<std::string, std::string>, Work> works_;  // by tenant and id
};

}  // namespace carillon
