// The power fails at a random moment under load, and what was not synced is lost in part. Everything acknowledged is
// there, nothing is there in part, the file is in order. (invariant 4)
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>

#include "durability/campaign.h"
#include "durability/common_commits.h"
#include "durability/load.h"
#include "durability/rows_on_disk.h"
#include "faults/fault_vfs.h"
#include "store/sqlite/sqlite_store.h"
#include "support/results.h"

namespace carillon::test {
namespace {

using testing::IsEmpty;

constexpr const char* kFile = "/data/jobs.db";
// So small that the log is written back every few commits: a power failure in the middle of that is the worst.
constexpr std::int64_t kLogBytes = 200'000;
constexpr int kStepsMax = 150;
constexpr std::size_t kThreads = 4;

using Synchronous = SqliteOptions::Synchronous;

struct Setup {
  Synchronous synchronous = Synchronous::full;
  bool lies_about_sync = false;
  bool threads = false;
};

// One disk, one store after the other on it, one ledger over all of them.
class Machine {
 public:
  Machine(std::uint64_t seed, const Setup& setup)
      : setup_(setup),
        random_(seed),
        vfs_({.name = "power", .disk = DiskModel::in_memory, .seed = seed, .lie_about_sync = setup.lies_about_sync}) {}

  // Loads the store until the power fails. A store that does not even open is fine too.
  void run_until_power_fails(std::uint64_t calls_max) {
    vfs_.power_off_at(1 + random_.below(calls_max));
    {
      auto store = open();
      if (store && setup_.threads) load_from_threads(**store);
      if (store && !setup_.threads) load_from_here(**store);
      // What had not failed by then fails now, with the store open.
      vfs_.power_off();
    }
    vfs_.power_on();
  }

  // What is wrong now. With the file read as the crash left it: SQLite's own recovery is all that has run.
  std::vector<std::string> violations() {
    const Snapshot found = rows_on_disk(kFile, vfs_.name());
    auto violations = ledger_.violations(found);
    if (violations.empty()) ledger_.settle_doubts(found);
    return violations;
  }

  // Work that is not final can be done again with no operator (invariant 5): queued jobs are handed out, and leases of
  // workers that died run out.
  void expect_work_goes_on() {
    auto store = open();
    ASSERT_TRUE(store) << store.error().message;
    clock_.advance(2h);
    const std::size_t leases = value_of((*store)->jobs().leases()).size();
    EXPECT_EQ(value_of((*store)->jobs().reap(10'000)).size(), leases);
    std::size_t queued = 0;
    for (const auto& [id, facts] : rows_on_disk(kFile, vfs_.name()).jobs) queued += facts.state == JobState::queued;
    const LivePage page = value_of((*store)->jobs().load_live({}, clock_.wall() + 24h, 100'000));
    EXPECT_EQ(page.jobs.size(), queued);
  }

  std::size_t acknowledgements() const { return ledger_.acknowledgements(); }
  std::size_t in_doubt() const { return ledger_.in_doubt(); }
  // How often the log was written back and emptied.
  std::uint64_t logs_emptied() const { return vfs_.counts().of(IoKind::truncate); }

 private:
  Result<std::unique_ptr<Store>> open() {
    return open_sqlite({.path = kFile,
                        .vfs = vfs_.name(),
                        .synchronous = setup_.synchronous,
                        .upkeep_thread = setup_.threads,
                        .log_bytes_max = kLogBytes},
                       clock_);
  }

  void load_from_here(Store& store) {
    Load load(store.jobs(), straight_to(store), ledger_, {.seed = random_.below(1'000'000), .name = "ada"});
    for (int i = 0; i < kStepsMax && load.step(); ++i) clock_.advance(1ms);
  }

  void load_from_threads(Store& store) {
    CommonCommits commits(store);
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t, seed = random_.below(1'000'000)] {
        Load load(store.jobs(), through(commits), ledger_, {.seed = seed, .name = fmt::format("worker-{}", t)});
        for (int i = 0; i < kStepsMax && load.step(); ++i) clock_.advance(1ms);
      });
    }
  }

  const Setup setup_;
  SeededRandom random_;
  FaultVfs vfs_;
  FixedClock clock_;
  Ledger ledger_;
};

struct Tally {
  int points = 0;
  std::size_t acknowledgements = 0;
  std::size_t in_doubt = 0;
  std::uint64_t logs_emptied = 0;
  int lost = 0;     // points after which an acknowledged write was not there
  int damaged = 0;  // points after which the file was not in order
  std::vector<std::string> examples;
};

bool says_lost(const std::vector<std::string>& violations) {
  return std::ranges::any_of(violations, [](const std::string& v) { return v.contains("was acknowledged as"); });
}
bool says_damaged(const std::vector<std::string>& violations) {
  return std::ranges::any_of(violations, [](const std::string& v) {
    return v.starts_with("integrity_check") || v.starts_with("cannot be read") || v.starts_with("not so");
  });
}

// Each point: a first life until the power fails, often a second one on the same disk, which may fail already while it
// opens.
Tally campaign(int points, const Setup& setup) {
  Tally tally;
  for (int point = 0; point < points; ++point) {
    const auto seed = std::uint64_t{1000} + static_cast<std::uint64_t>(point);
    Machine machine(seed, setup);
    // Of a whole run, which has some 3,000 calls that change the disk.
    constexpr std::array<std::uint64_t, 3> kCallsMax{2500, 60, 800};
    const int lives = 1 + point % 3;
    std::vector<std::string> violations;
    for (int life = 0; life < lives && violations.empty(); ++life) {
      machine.run_until_power_fails(kCallsMax[static_cast<std::size_t>(life)]);
      ++tally.points;
      tally.in_doubt += machine.in_doubt();
      violations = machine.violations();
      // A disk that lost its file before anything was acknowledged has no tables yet.
      if (machine.acknowledgements() == 0) violations.clear();
    }
    tally.acknowledgements += machine.acknowledgements();
    tally.logs_emptied += machine.logs_emptied();
    if (violations.empty()) {
      machine.expect_work_goes_on();
    } else {
      tally.lost += says_lost(violations);
      tally.damaged += says_damaged(violations);
      tally.examples.push_back(fmt::format("seed {}: {}", seed, fmt::join(violations, "\n  ")));
      if (tally.examples.size() > 3) tally.examples.resize(3);
    }
  }
  return tally;
}

void report(const char* what, const Tally& tally) {
  std::printf(
      "REPORT power loss, %s: %d points, %zu writes acknowledged, %zu in doubt, log emptied %zu times, lost "
      "after %d points, file damaged after %d\n",
      what, tally.points, tally.acknowledgements, tally.in_doubt, static_cast<std::size_t>(tally.logs_emptied),
      tally.lost, tally.damaged);
}

TEST(PowerLoss, NothingAcknowledgedIsLostFromOneThread) {  // invariants 4, 5
  const Tally tally = campaign(is_full_run() ? 1005 : 40, {});
  report("one thread", tally);
  EXPECT_THAT(tally.examples, IsEmpty());
  EXPECT_GT(tally.acknowledgements, 100U);
  EXPECT_GT(tally.in_doubt, 0U);
  EXPECT_GT(tally.logs_emptied, 20U);
}

TEST(PowerLoss, NothingAcknowledgedIsLostFromManyThreads) {  // invariants 4, 5
  const Tally tally = campaign(is_full_run() ? 500 : 15, {.threads = true});
  report("four threads in common commits", tally);
  EXPECT_THAT(tally.examples, IsEmpty());
  EXPECT_GT(tally.acknowledgements, 100U);
}

TEST(PowerLoss, WithoutFullSyncAcknowledgedWritesAreLostButTheFileIsInOrder) {  // the control
  const Tally tally = campaign(is_full_run() ? 200 : 20, {.synchronous = Synchronous::normal});
  report("control with synchronous=NORMAL", tally);
  EXPECT_GT(tally.lost, 0);
  EXPECT_EQ(tally.damaged, 0);
}

TEST(PowerLoss, ADiskThatLiesAboutSyncLosesAcknowledgedWrites) {  // the control
  const Tally tally = campaign(is_full_run() ? 100 : 15, {.lies_about_sync = true});
  report("control with a disk that lies", tally);
  EXPECT_GT(tally.lost + tally.damaged, 0);
}

}  // namespace
}  // namespace carillon::test
