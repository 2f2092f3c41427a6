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

#include "engine/round.h"
#include "store/store.h"

namespace carillon {

inline constexpr std::string_view kBulkKind = "bulk";

struct BulkState {
  BulkInfo info;
  JobFilter filter;
  std::optional<double> rate;
  JobId after;  // where it stands
};

// The jobs that a request means, at `now`.
JobFilter filter_of(const BulkRequest& request, Instant now);
// How many live jobs match: by state and queue always, else nothing if there are more than 100,000 or if it takes
// longer than a second to know. Not inside of a transaction.
std::optional<std::uint64_t> count_matching(Store& store, const JobFilter& filter);

std::string write_bulk(const BulkState& bulk);
Result<BulkState> read_bulk(std::string_view text);

class BulkWork {
 public:
  // Asks a handler that runs to stop, once the round is committed.
  using AskToStop = std::function<void(Round&, JobId)>;

  BulkWork(Store& store, AskToStop ask_to_stop) : store_(store), ask_to_stop_(std::move(ask_to_stop)) {}
  BulkWork(const BulkWork&) = delete;
  BulkWork& operator=(const BulkWork&) = delete;
  ~BulkWork() = default;

  struct Begin {
    BulkRequest request;
    std::optional<std::uint64_t> total;
  };
  Result<BulkInfo> begin(Round& round, const Begin& begin);
  Result<BulkInfo> stop(Round& round, std::string_view tenant, std::string_view id);
  // One that was under way when the engine ended.
  void resume(const Document& document);

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
  void remember(Round& round, const BulkState& state, BootTime next_at);

  Store& store_;
  AskToStop ask_to_stop_;
  std::map<std::pair<std::string, std::string>, Work> works_;  // by tenant and id
};

}  // namespace carillon
