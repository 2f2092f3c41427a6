// A program that runs jobs is killed under load, again and again on the same file, and in the end left to finish:
// nothing that it acknowledged is lost, and what a kill interrupted runs again. (invariants 4, 5, 8, 12)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "durability/campaign.h"
#include "engine_process/judge.h"
#include "engine_process/worker_process.h"
#include "faults/seeded_random.h"

namespace carillon::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kKillsPerFile = 10;
constexpr long kNumbersPerLife = 1'000'000;
constexpr std::chrono::milliseconds kAgainWithin = 7s;  // the worker's lease and 2 s

std::uintmax_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

// One store file and its ledger.
class Campaign {
 public:
  explicit Campaign(unsigned long seed) : random_(seed) {}

  void live_and_die(const std::string& mode, int life) {
    const auto before = size_of(ledger_);
    WorkerProcess worker({mode, store_, ledger_, std::to_string((life + 1) * kNumbersPerLife)});
    // Mostly under load; now and then while it opens the file.
    if (life % 4 != 3) {
      const auto enough = before + 2000 + random_.below(20000);
      ASSERT_TRUE(wait_until([&] { return size_of(ledger_) >= enough; })) << "the worker does nothing";
    }
    pass(std::chrono::milliseconds(1 + random_.below(12)));
    worker.kill_now();
  }

  Judgement finish() {
    WorkerProcess last({"drain", store_, ledger_});
    EXPECT_EQ(last.wait_for_end(kPatience), 0);
    const WorkerProcess lister({"list", store_, ledger_});
    return judge(lines_of(ledger_), read_listed(lister.read_all()), kAgainWithin);
  }

 private:
  const ScratchFolder folder_;
  const std::string store_ = folder_.file("jobs.db");
  const std::string ledger_ = folder_.file("ledger");
  SeededRandom random_;
};

TEST(EngineKill, NothingAcknowledgedIsLostAndWhatWasInterruptedRunsAgain) {
  const int kills = is_full_run() ? 100 : 10;
  Judgement all;
  for (int first = 0; first < kills; first += kKillsPerFile) {
    Campaign campaign(static_cast<unsigned long>(first) + 1);
    for (int life = 0; life < kKillsPerFile; ++life) {
      SCOPED_TRACE(first + life);
      campaign.live_and_die("load", life);
    }
    const Judgement judgement = campaign.finish();
    EXPECT_THAT(judgement.violations, IsEmpty());
    all.acknowledged += judgement.acknowledged;
    all.runs += judgement.runs;
    all.repeated += judgement.repeated;
    all.slowest = std::max(all.slowest, judgement.slowest);
  }
  std::printf(
      "REPORT engine under kill -9: %d kills, %zu jobs acknowledged, none lost; %zu runs, %zu of them again after a "
      "kill, the latest %lld ms after the restart\n",
      kills, all.acknowledged, all.runs, all.repeated, static_cast<long long>(all.slowest.count()));
  EXPECT_GT(all.acknowledged, 100U);
  EXPECT_GT(all.repeated, 0U);
}

// The negative control: a worker that says `acked` before it asks does lose jobs, and that is seen.
TEST(EngineKill, AProgramThatAcknowledgesTooEarlyIsCaught) {
  Campaign campaign(77);
  for (int life = 0; life < kKillsPerFile; ++life) campaign.live_and_die("load-liar", life);
  const Judgement judgement = campaign.finish();
  EXPECT_THAT(judgement.violations, Contains(HasSubstr("LOST")));
  std::printf(
      "REPORT engine under kill -9, negative control: %zu of %zu jobs that were acknowledged too early are lost\n",
      judgement.violations.size(), judgement.acknowledged);
}

}  // namespace
}  // namespace carillon::test
