#include "store/batcher.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "durability/loaded_file.h"

namespace carillon::test {
namespace {

using testing::IsEmpty;

class BatcherTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(file_.open()); }

  Store& store() { return file_.store(); }
  FaultVfs& vfs() { return file_.vfs(); }

  using Answer = std::future<Result<Enqueued>>;
  static Answer enqueue(Batcher& batcher, NewJob job, std::size_t bytes = 0) {
    return batcher.submit(
        [job = std::move(job)](Store& store) { return std::move(store.jobs().enqueue({&job, 1}).front()); }, bytes);
  }
  NewJob job() { return {.id = store().jobs().new_job_id(), .type = "mail.send"}; }
  bool is_there(JobId id) { return store().reader().job("default", id).has_value(); }

  LoadedFile file_{DiskModel::in_memory, std::int64_t{1} << 30};
};

// Holds the writer in a transaction of its own, so that all that is submitted meanwhile waits together.
class Held {
 public:
  explicit Held(Batcher& batcher) {
    answer_ = batcher.submit([this](Store&) -> Result<int> {
      entered_.count_down();
      go_on_.wait();
      return 0;
    });
    entered_.wait();
  }
  ~Held() { let_go(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  void let_go() {
    if (!answer_.valid()) return;
    go_on_.count_down();
    EXPECT_TRUE(answer_.get());
  }

 private:
  std::latch entered_{1};
  std::latch go_on_{1};
  std::future<Result<int>> answer_;
};

TEST_F(BatcherTest, EveryThreadGetsItsOwnAnswer) {
  constexpr int kThreads = 16;
  const int writes_each = is_full_run() ? 2000 : 100;
  Batcher::Totals totals;
  {
    Batcher batcher(store());
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < writes_each; ++i) {
          NewJob mine = job();
          mine.payload = fmt::format(R"({{"thread": {}, "write": {}}})", t, i);
          const auto answer = enqueue(batcher, mine).get();
          ASSERT_TRUE(answer) << answer.error().message;
          ASSERT_EQ(answer->id, mine.id);
          // Durable, and so visible to anybody, as soon as it is answered.
          if (i % 10 != 0) continue;
          ASSERT_EQ(value_of(store().reader().job("default", mine.id)).payload, mine.payload);
        }
      });
    }
    threads.clear();
    totals = batcher.totals();
  }
  EXPECT_EQ(totals.writes, static_cast<std::uint64_t>(kThreads * writes_each));
  EXPECT_LE(totals.commits, totals.writes);
  EXPECT_EQ(file_.jobs_shown(), totals.writes);
  std::printf("REPORT batcher: %d threads, %zu writes in %zu commits, each with its own answer\n", kThreads,
              static_cast<std::size_t>(totals.writes), static_cast<std::size_t>(totals.commits));
}

TEST_F(BatcherTest, AllThatWaitsGoesIntoOneCommit) {
  Batcher batcher(store());
  std::vector<Answer> answers;
  vfs().reset_counts();
  {
    const Held held(batcher);
    for (int i = 0; i < 100; ++i) answers.push_back(enqueue(batcher, job()));
  }
  for (Answer& answer : answers) EXPECT_TRUE(answer.get());
  EXPECT_EQ(batcher.totals().commits, 2U);
  // What was held wrote nothing: one commit, one sync of the log, and one more if it was new.
  EXPECT_LE(vfs().counts().of(IoKind::sync), 2U);
}

TEST_F(BatcherTest, ABadWriteFailsAlone) {
  Batcher batcher(store());
  std::vector<Answer> answers;
  std::vector<NewJob> jobs;
  {
    const Held held(batcher);
    for (int i = 0; i < 20; ++i) {
      jobs.push_back(job());
      if (i % 7 == 3) jobs.back().type = "";
      answers.push_back(enqueue(batcher, jobs.back()));
    }
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto answer = answers[i].get();
    EXPECT_EQ(answer.has_value(), i % 7 != 3);
    EXPECT_EQ(is_there(jobs[i].id), i % 7 != 3);
    EXPECT_TRUE(answer || answer.error().code == ErrorCode::invalid_request);
  }
  EXPECT_EQ(batcher.totals().commits, 2U);
}

TEST_F(BatcherTest, AWriteThatIsRefusedHalfWayLeavesNothingBehind) {
  Batcher batcher(store());
  const NewJob good = job();
  NewJob bad = job();
  bad.depends_on = {JobId{77}};  // stored by nobody
  std::future<Result<int>> pair;
  Answer neighbour;
  {
    const Held held(batcher);
    pair = batcher.submit([&](Store& s) -> Result<int> {
      TRY(s.jobs().enqueue_all(std::array{good, bad}));
      return 2;
    });
    neighbour = enqueue(batcher, job());
  }
  EXPECT_EQ(error_of(pair.get()).code, ErrorCode::dependency_not_met);
  EXPECT_TRUE(neighbour.get());
  EXPECT_FALSE(is_there(good.id));
  EXPECT_EQ(file_.jobs_shown(), 1U);
}

TEST_F(BatcherTest, AFailedCommitReachesEveryWaiterAndNothingOfItIsVisible) {
  Batcher batcher(store());
  std::vector<Answer> answers;
  {
    const Held held(batcher);
    for (int i = 0; i < 30; ++i) answers.push_back(enqueue(batcher, job()));
    vfs().fail({.kinds = {IoKind::sync}, .nth = 1, .lasts = FaultLasts::until_cleared});
  }
  for (Answer& answer : answers) EXPECT_EQ(error_of(answer.get()).code, ErrorCode::unavailable);
  EXPECT_EQ(file_.jobs_shown(), 0U);
  EXPECT_TRUE(value_of(store().jobs().load_live({}, file_.clock().wall(), 100)).jobs.empty());

  vfs().clear_faults();
  EXPECT_TRUE(enqueue(batcher, job()).get());
  EXPECT_EQ(file_.jobs_shown(), 1U);
  EXPECT_THAT(rows_on_disk(file_.path(), vfs().name()).faults, IsEmpty());
}

TEST_F(BatcherTest, DestructionWritesWhatWaits) {
  std::vector<Answer> answers;
  std::optional<Batcher> batcher(std::in_place, store());
  std::optional<Held> held(std::in_place, *batcher);
  for (int i = 0; i < 500; ++i) answers.push_back(enqueue(*batcher, job()));
  std::jthread destroyer([&] { batcher.reset(); });
  held.reset();
  destroyer.join();
  for (Answer& answer : answers) {
    ASSERT_EQ(answer.wait_for(0s), std::future_status::ready);
    EXPECT_TRUE(answer.get());
  }
  EXPECT_EQ(file_.jobs_shown(), 500U);
}

TEST_F(BatcherTest, ATransactionIsBoundedInCount) {
  Batcher batcher(store(), {.items_max = 10});
  std::vector<Answer> answers;
  {
    const Held held(batcher);
    for (int i = 0; i < 95; ++i) answers.push_back(enqueue(batcher, job()));
  }
  for (Answer& answer : answers) EXPECT_TRUE(answer.get());
  EXPECT_EQ(batcher.totals().commits, 1U + 10U);
  EXPECT_EQ(batcher.totals().writes, 96U);
}

TEST_F(BatcherTest, ATransactionIsBoundedInBytes) {
  Batcher batcher(store(), {.bytes_max = 1000});
  std::vector<Answer> answers;
  {
    const Held held(batcher);
    for (int i = 0; i < 9; ++i) answers.push_back(enqueue(batcher, job(), 300));
    answers.push_back(enqueue(batcher, job(), 5000));  // more than fits: alone
    answers.push_back(enqueue(batcher, job(), 300));
  }
  for (Answer& answer : answers) EXPECT_TRUE(answer.get());
  EXPECT_EQ(batcher.totals().commits, 1U + 3U + 1U + 1U);
}

TEST_F(BatcherTest, SubmittingWaitsWhenTooMuchWaits) {
  constexpr int kWaitingMax = 5;
  Batcher batcher(store(), {.waiting_max = kWaitingMax});
  std::atomic<int> submitted = 0;
  std::vector<Answer> answers(20);
  std::jthread submitter;
  {
    const Held held(batcher);
    submitter = std::jthread([&] {
      for (Answer& answer : answers) {
        answer = enqueue(batcher, job());
        ++submitted;
      }
    });
    while (submitted < kWaitingMax) std::this_thread::yield();
    // It must not get further however long one waits; a moment has to do.
    const auto until = std::chrono::steady_clock::now() + 50ms;
    while (std::chrono::steady_clock::now() < until) ASSERT_EQ(submitted, kWaitingMax);
  }
  submitter.join();
  for (Answer& answer : answers) EXPECT_TRUE(answer.get());
}

TEST_F(BatcherTest, ACallbackComesAfterTheCommit) {
  const NewJob one = job();
  std::promise<bool> seen;
  Batcher batcher(store());
  batcher.submit([&](Store& s) { return std::move(s.jobs().enqueue({&one, 1}).front()); },
                 [&](const Result<Enqueued>& answer) { seen.set_value(answer && is_there(one.id)); });
  EXPECT_TRUE(seen.get_future().get());
}

// Faults come and go while many threads write: each is told the truth about its own write.
TEST_F(BatcherTest, ThreadsUnderFaultsAreToldTheTruth) {
  constexpr int kThreads = 6;
  std::atomic<int> errors = 0;
  std::atomic<int> running = kThreads;
  {
    Batcher batcher(store());
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Load load(store().jobs(), through(batcher), file_.ledger(),
                  {.seed = 100 + t, .name = fmt::format("worker-{}", t), .errors_change_nothing = true});
        for (int i = 0; i < (is_full_run() ? 2000 : 100); ++i) errors += !load.step();
        --running;
      });
    }
    // One fault at a time, so that most commits succeed.
    bool is_armed = false;
    for (std::uint64_t failed = 0; running > 0; std::this_thread::yield()) {
      if (is_armed && vfs().counts().failed == failed) continue;
      failed = vfs().counts().failed;
      is_armed = true;
      vfs().fail({.kinds = kMutatingKinds, .nth = 60});
    }
  }
  vfs().clear_faults();
  EXPECT_GT(errors, 0);
  EXPECT_THAT(file_.violations(), IsEmpty());
  std::printf(
      "REPORT batcher: %zu writes acknowledged and %d refused from %d threads while commits failed; all as told\n",
      file_.ledger().acknowledgements(), errors.load(), kThreads);
}

}  // namespace
}  // namespace carillon::test
