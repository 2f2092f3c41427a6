// A day of deliveries to users who are due in every minute of it, in a process that is killed and started again: each
// user has exactly one outcome of the day, none has two successes, none is forgotten. (invariants 1, 2, 3, 8, 19)
//
// 20,000 users and 2 kills; with CARILLON_FULL=1 1,000,000 users and 5 kills.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "delivery_day/day.h"
#include "delivery_day/day_report.h"
#include "durability/campaign.h"
#include "durability/rows_on_disk.h"
#include "engine_process/worker_process.h"
#include "faults/seeded_random.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::chrono::milliseconds kDayMax = 55min;  // of real time

// A file of users, and the virtual clock of those who work on it.
class Day {
 public:
  explicit Day(long users) : users_(users) {
    WorkerProcess importer({"import", store_, std::to_string(users)});
    EXPECT_EQ(importer.wait_for_end(kDayMax), 0);
  }

  enum class Moment : std::uint8_t {
    random,
    in_attempts,  // one at least is claimed and not settled
  };
  // Kills the worker somewhere in a minute of the day, or soon after it. How many attempts are left in the middle.
  long run_and_kill(long minute, Moment moment) {
    WorkerProcess worker({"run", store_, clock_});
    const Instant when = day_begin() + std::chrono::minutes(minute);
    EXPECT_TRUE(wait_until([&] { return virtual_time() >= when; }, kDayMax))
        << "the worker does not come to " << minute;
    pass(std::chrono::milliseconds(random_.below(30)));
    if (moment == Moment::in_attempts) {
      EXPECT_TRUE(wait_until([&] { return stands_in_attempts(worker); })) << "no lease was ever seen";
    }
    EXPECT_EQ(worker.wait_for_end(0ms), std::nullopt) << "it has ended by itself";
    worker.kill_now();
    return leases_on_disk(store_);
  }
  void run_to_the_end() {
    WorkerProcess worker({"run", store_, clock_});
    EXPECT_EQ(worker.wait_for_end(kDayMax), 0);
  }

  DayReport report() const { return report_of_day(store_, users_); }
  const std::string& store() const { return store_; }
  SeededRandom& random() { return random_; }

 private:
  // Stops it, so that what is seen is what the kill leaves; else lets it go on.
  bool stands_in_attempts(const WorkerProcess& worker) const {
    worker.signal(SIGSTOP);
    siginfo_t stopped{};
    waitid(P_PID, static_cast<id_t>(worker.id()), &stopped, WSTOPPED | WEXITED | WNOWAIT);
    if (leases_on_disk(store_) > 0) return true;
    worker.signal(SIGCONT);
    return false;
  }
  Instant virtual_time() const {
    std::int64_t microseconds = 0;
    std::ifstream file(clock_);
    return file >> microseconds ? Instant(Duration(microseconds)) : kInstantMin;
  }

  const ScratchFolder folder_;
  const std::string store_ = folder_.file("jobs.db");
  const std::string clock_ = folder_.file("clock");
  const long users_;
  SeededRandom random_{6};
};

long count_of(long users, bool (*is)(long)) {
  long count = 0;
  for (long user = 0; user < users; ++user) count += is(user) ? 1 : 0;
  return count;
}

TEST(DeliveryDay, EachUserHasExactlyOneOutcomeWhateverWasKilled) {
  const long users = is_full_run() ? 1'000'000 : 20'000;
  const std::size_t kills = is_full_run() ? 5 : 2;
  Day day(users);
  std::vector<long> minutes;
  for (std::size_t i = 0; i < kills; ++i) {
    minutes.push_back(kFirstKillMinute + static_cast<long>(day.random().below(1400)));
  }
  std::ranges::sort(minutes);
  const auto begun = std::chrono::steady_clock::now();
  long left_behind = 0;
  for (std::size_t i = 0; i < kills; ++i) {
    left_behind += day.run_and_kill(minutes[i], i % 2 == 0 ? Day::Moment::in_attempts : Day::Moment::random);
  }
  day.run_to_the_end();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;

  const DayReport report = day.report();
  EXPECT_THAT(report.faults, IsEmpty());
  EXPECT_EQ(report.outcomes, users);
  EXPECT_EQ(report.cutoffs, count_of(users, never_succeeds) + count_of(users, runs_out_of_time));
  EXPECT_GT(count_of(users, runs_out_of_time), 0);
  EXPECT_EQ(report.successes + report.cutoffs, users);
  EXPECT_THAT(rows_on_disk(day.store()).faults, IsEmpty());
  EXPECT_GT(left_behind, 0) << "no kill came in the middle of anything";
  std::printf(
      "REPORT a day of deliveries (%s): %ld users, %zu kills in the middle of %ld attempts, %ld outcomes, %ld "
      "successes, %ld cutoffs, none twice, none missing; %.0f s of real time\n",
      run_name(), users, kills, left_behind, report.outcomes, report.successes, report.cutoffs, took.count());
}

// The negative control: what the count is there to see, it sees.
TEST(DeliveryDay, AnOutcomeThatIsGoneAndASecondSuccessAreCaught) {
  constexpr long kUsers = 2'000;
  Day day(kUsers);
  day.run_to_the_end();
  ASSERT_THAT(day.report().faults, IsEmpty());
  const std::string slot = std::to_string(day_begin().time_since_epoch().count());
  {
    PlainConnection connection(day.store());
    connection.run(
        "DELETE FROM outcomes WHERE subject = (SELECT id FROM subjects WHERE subject = 'user-100') AND slot = " + slot);
  }
  EXPECT_THAT(day.report().faults, ElementsAre("outcomes: 1999, not 2000", "users without an outcome: 1, not 0",
                                               "successful jobs: " + std::to_string(day.report().successes + 1) +
                                                   ", not " + std::to_string(day.report().successes),
                                               testing::StartsWith("successes as they were counted"),
                                               "users whose own record is not that of their last outcome: 1, not 0"));
  {
    PlainConnection connection(day.store());
    connection.run("CREATE TEMP TABLE twice AS SELECT * FROM archive WHERE subject = 'user-200' AND slot = " + slot);
    connection.run("UPDATE twice SET id = id + 1000000000");
    connection.run("INSERT INTO archive SELECT * FROM twice");
  }
  EXPECT_THAT(day.report().faults, testing::Contains("users with a second success: 1, not 0"));
}

TEST(DeliveryDay, ARecordThatSaysOtherwiseIsCaught) {
  constexpr long kUsers = 1'440;
  Day day(kUsers);
  day.run_to_the_end();
  ASSERT_THAT(day.report().faults, IsEmpty());
  for (const std::string_view change : {"status = 7", "status = NULL", "last_slot = last_slot - 86400000000"}) {
    PlainConnection connection(day.store());
    connection.run("BEGIN; CREATE TEMP TABLE before AS SELECT * FROM subjects WHERE subject = 'user-300'");
    connection.run(fmt::format("UPDATE subjects SET {} WHERE subject = 'user-300'; COMMIT", change));
    EXPECT_THAT(day.report().faults, ElementsAre("users whose own record is not that of their last outcome: 1, not 0"))
        << change;
    connection.run("REPLACE INTO subjects SELECT * FROM before; DROP TABLE before");
    EXPECT_THAT(day.report().faults, IsEmpty());
  }
}

}  // namespace
}  // namespace carillon::test
