// A store on a disk that can fail, a load on it, and the ledger of both.
//
// Here an error is taken at its word: nothing has changed (job_store.h).
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "durability/campaign.h"
#include "durability/load.h"
#include "durability/rows_on_disk.h"
#include "faults/fault_vfs.h"
#include "store/sqlite/sqlite_store.h"
#include "support/results.h"

namespace carillon::test {

inline constexpr std::uint64_t kLoadSeed = 20260329;

class LoadedFile {
 public:
  // The log is written back every few commits.
  static constexpr std::int64_t kLogBytes = 150'000;

  explicit LoadedFile(DiskModel disk, std::int64_t log_bytes_max = kLogBytes)
      : path_(disk == DiskModel::in_memory ? "/data/jobs.db" : folder_.file("jobs.db")),
        log_bytes_max_(log_bytes_max),
        vfs_({.name = "faulty", .disk = disk, .seed = kLoadSeed}) {}

  FaultVfs& vfs() { return vfs_; }
  Store& store() { return *store_; }
  Ledger& ledger() { return ledger_; }
  FixedClock& clock() { return clock_; }
  const std::string& path() const { return path_; }

  Result<void> open() {
    store_.reset();
    auto opened = open_sqlite(
        {.path = path_, .vfs = vfs_.name(), .upkeep_thread = false, .log_bytes_max = log_bytes_max_}, clock_);
    if (!opened) return std::unexpected(std::move(opened).error());
    store_ = *std::move(opened);
    return {};
  }
  void close() { store_.reset(); }

  // How often calls were answered with an error, by its code.
  struct Answers {
    std::map<ErrorCode, int> writes;
    std::map<ErrorCode, int> reads;
    bool all_good() const { return writes.empty() && reads.empty(); }
  };

  // Writes, and reads between any two of them.
  Answers work(int steps, std::uint64_t seed = kLoadSeed) {
    Load load(store().jobs(), straight_to(store()), ledger_,
              {.seed = seed, .name = fmt::format("ada-{}", ++loads_), .errors_change_nothing = true});
    Answers answers;
    for (int i = 0; i < steps; ++i) {
      clock_.advance(1ms);
      if (const auto written = load.step(); !written) ++answers.writes[written.error().code];
      note(store().reader().jobs({}, {}, 20), answers.reads);
      note(store().jobs().load_live({}, clock_.wall(), 50), answers.reads);
    }
    return answers;
  }

  std::vector<std::string> violations() { return ledger_.violations(rows_on_disk(path_, vfs_.name())); }

  // What the store itself shows, page by page.
  std::size_t jobs_shown() {
    std::size_t count = 0;
    JobId before;
    do {
      const JobPage page = value_of(store().reader().jobs({}, before, 100));
      count += page.jobs.size();
      before = page.next_before;
    } while (before);
    return count;
  }

 private:
  template <typename T>
  static void note(const Result<T>& answer, std::map<ErrorCode, int>& codes) {
    if (!answer) ++codes[answer.error().code];
  }

  ScratchFolder folder_;
  const std::string path_;
  const std::int64_t log_bytes_max_;
  FaultVfs vfs_;
  FixedClock clock_;
  Ledger ledger_;
  int loads_ = 0;
  std::unique_ptr<Store> store_;
};

}  // namespace carillon::test
