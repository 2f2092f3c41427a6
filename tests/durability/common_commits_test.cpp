#include "durability/common_commits.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "durability/loaded_file.h"

namespace carillon::test {
namespace {

using testing::IsEmpty;

// Faults come and go while many threads write: each is told the truth about its own write.
TEST(CommonCommitsTest, ThreadsUnderFaultsAreToldTheTruth) {
  constexpr int kThreads = 6;
  LoadedFile file{DiskModel::in_memory, std::int64_t{1} << 30};
  ASSERT_TRUE(file.open());
  std::atomic<int> errors = 0;
  std::atomic<int> running = kThreads;
  {
    CommonCommits commits(file.store());
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Load load(file.store().jobs(), through(commits), file.ledger(),
                  {.seed = 100 + t, .name = fmt::format("worker-{}", t), .errors_change_nothing = true});
        for (int i = 0; i < (is_full_run() ? 2000 : 100); ++i) errors += !load.step();
        --running;
      });
    }
    // One fault at a time, so that most commits succeed.
    bool is_armed = false;
    for (std::uint64_t failed = 0; running > 0; std::this_thread::yield()) {
      if (is_armed && file.vfs().counts().failed == failed) continue;
      failed = file.vfs().counts().failed;
      is_armed = true;
      file.vfs().fail({.kinds = kMutatingKinds, .nth = 60});
    }
  }
  file.vfs().clear_faults();
  EXPECT_GT(errors, 0);
  EXPECT_THAT(file.violations(), IsEmpty());
  std::printf(
      "REPORT common commits: %zu writes acknowledged and %d refused from %d threads while commits failed; all as "
      "told\n",
      file.ledger().acknowledgements(), errors.load(), kThreads);
}

}  // namespace
}  // namespace carillon::test
