// Readers: ours never hold up the writer and are cut after a second; one from outside may hold up the log, and then
// writes are refused before it fills the disk.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "durability/campaign.h"
#include "durability/rows_on_disk.h"
#include "store/sqlite/sqlite_store.h"
#include "support/results.h"

namespace carillon::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

class ReaderLog : public testing::Test {
 protected:
  std::string path() const { return folder_.file("jobs.db"); }
  std::int64_t log_bytes() const {
    std::error_code error;
    const auto size = std::filesystem::file_size(path() + "-wal", error);
    return error ? 0 : static_cast<std::int64_t>(size);
  }
  void open(SqliteOptions options = {}) {
    options.path = path();
    store_ = value_of(open_sqlite(options));
  }
  Result<Enqueued> enqueue(std::size_t payload_bytes) {
    const NewJob job{.type = "mail.send", .payload = fmt::format("\"{}\"", std::string(payload_bytes, 'x'))};
    return std::move(store_->jobs().enqueue({&job, 1}).front());
  }
  void expect_reads_are_good() {
    EXPECT_TRUE(store_->reader().jobs({}, {}, 10));
    EXPECT_TRUE(store_->reader().counts("default"));
    EXPECT_TRUE(store_->jobs().load_live({}, store_->jobs().now(), 10));
  }
  // Finished jobs written past the store, many and fast: {"tags": […]} makes each costly to look at.
  // Adds to what is there.
  void put_archive(int rows) {
    PlainConnection connection(path());
    connection.run(
        "BEGIN; INSERT OR IGNORE INTO lanes VALUES (1, 'default', 'default'); "
        "INSERT OR IGNORE INTO types VALUES (1, 'mail.send')");
    connection.run(fmt::format(
        "WITH RECURSIVE n(i, end) AS (SELECT coalesce(max(id), 0) + 1, coalesce(max(id), 0) + {} FROM archive "
        "UNION ALL SELECT i + 1, end FROM n WHERE i < end) "
        "INSERT INTO archive (id, state, lane, type, priority, run_at, attempts, token, finished_at, options, payload) "
        "SELECT i, 4, 1, 1, 3, 0, 1, 1, 0, '{{\"tags\":[\"a1\",\"a2\",\"a3\",\"a4\",\"a5\",\"a6\",\"a7\",\"a8\"]}}', "
        "'null' FROM n",
        rows));
    connection.run("INSERT OR REPLACE INTO counts SELECT 1, 4, count(*) FROM archive; COMMIT");
  }

  ScratchFolder folder_;
  std::unique_ptr<Store> store_;
};

struct Walk {
  int pages = 0;
  int partial = 0;  // cut before they were full
  std::size_t jobs = 0;
  milliseconds slowest{};
};

Walk walk_all(StoreReader& reader, const JobQuery& filter) {
  Walk walk;
  JobId before;
  do {
    const auto begin = steady_clock::now();
    const JobPage page = value_of(reader.jobs(filter, before, kPageMax));
    walk.slowest = std::max(walk.slowest, std::chrono::ceil<milliseconds>(steady_clock::now() - begin));
    ++walk.pages;
    walk.partial += page.next_before && page.jobs.size() < kPageMax;
    walk.jobs += page.jobs.size();
    EXPECT_TRUE(!page.next_before || !before || page.next_before < before);
    before = page.next_before;
  } while (before);
  return walk;
}

TEST_F(ReaderLog, AListThatFindsNothingIsCutAndGoesOnToItsEnd) {
  // As many rows as this machine cannot look at in one read.
  Walk walk;
  int rows = 0;
  for (int step = is_full_run() ? 3'000'000 : 400'000; walk.partial == 0 && rows < 10'000'000; rows += step) {
    open();
    store_.reset();
    put_archive(step);
    open();
    walk = walk_all(store_->reader(), {.tag = "absent"});
    store_.reset();
    EXPECT_EQ(walk.jobs, 0U);
    EXPECT_LT(walk.slowest, 1500ms);
  }
  EXPECT_GT(walk.partial, 0);
  std::printf(
      "REPORT readers: a filter that matches none of %d rows: %d pages, each cut by %lld ms at the latest, "
      "then the end\n",
      rows, walk.pages, static_cast<long long>(walk.slowest.count()));
}

TEST_F(ReaderLog, LongPayloadsAreSearchedInPartsToo) {
  open();
  const int jobs = is_full_run() ? 1500 : 150;
  for (int i = 0; i < jobs; ++i) ASSERT_TRUE(enqueue(kPayloadBytesMax - 10));
  const Walk walk = walk_all(store_->reader(), {.text = "absent"});
  EXPECT_EQ(walk.jobs, 0U);
  EXPECT_LT(walk.slowest, 1500ms);
  std::printf("REPORT readers: searching %d payloads of 1 MiB: %d pages, the slowest took %lld ms\n", jobs, walk.pages,
              static_cast<long long>(walk.slowest.count()));
}

TEST_F(ReaderLog, OurReadersDoNotHoldUpTheWriter) {
  open();
  store_.reset();
  put_archive(50'000);
  open();
  const auto commits_in = [&](milliseconds time) {
    struct {
      int commits = 0;
      milliseconds slowest{};
    } seen;
    const auto until = steady_clock::now() + time;
    for (auto begin = steady_clock::now(); begin < until; begin = steady_clock::now()) {
      EXPECT_TRUE(enqueue(100));
      ++seen.commits;
      seen.slowest = std::max(seen.slowest, std::chrono::ceil<milliseconds>(steady_clock::now() - begin));
    }
    return seen;
  };
  const milliseconds time = is_full_run() ? 5s : 400ms;
  const auto alone = commits_in(time);
  std::atomic<bool> stop = false;
  std::atomic<int> walks = 0;
  std::jthread reader([&] {
    while (!stop) {
      walk_all(store_->reader(), {.tag = "absent"});
      ++walks;
    }
  });
  while (walks == 0) std::this_thread::yield();
  const auto beside = commits_in(time);
  stop = true;
  reader.join();
  EXPECT_GT(walks, 1);
  // Far from none, and none that waited for a walk: the rest is what two cores can do.
  EXPECT_GT(beside.commits, alone.commits / 10);
  EXPECT_LT(beside.slowest, 500ms);
  std::printf(
      "REPORT readers: %d commits alone, %d in the same time beside a reader that never stops (slowest commit "
      "%lld ms, %d walks)\n",
      alone.commits, beside.commits, static_cast<long long>(beside.slowest.count()), walks.load());
}

// Readers that overlap without a gap, one after the other: the log is emptied all the same.
TEST_F(ReaderLog, OurReadersDoNotKeepTheLogFromBeingEmptied) {
  open();
  store_.reset();
  put_archive(20'000);
  open({.log_bytes_max = 250 * kMebibyte});
  std::atomic<bool> stop = false;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) EXPECT_TRUE(store_->reader().jobs({.tag = "absent"}, {}, kPageMax));
    });
  }
  const std::int64_t to_write = (is_full_run() ? 2000 : 300) * kMebibyte;
  std::int64_t highest = 0;
  int refused = 0;
  for (std::int64_t written = 0; written < to_write; written += kMebibyte) {
    refused += !enqueue(kPayloadBytesMax - 10);
    highest = std::max(highest, log_bytes());
  }
  // Nothing is written any more, but the readers go on.
  const auto begin = steady_clock::now();
  while (log_bytes() > 128 * kMebibyte && steady_clock::now() < begin + 5s) std::this_thread::sleep_for(10ms);
  const std::int64_t in_the_end = log_bytes();
  stop = true;
  readers.clear();
  std::printf(
      "REPORT readers: %lld MiB written beside two readers without a pause: %d writes refused, log at most "
      "%lld MiB, %lld MiB in the end\n",
      static_cast<long long>(to_write / kMebibyte), refused, static_cast<long long>(highest / kMebibyte),
      static_cast<long long>(in_the_end / kMebibyte));
  EXPECT_EQ(refused, 0);
  EXPECT_LE(in_the_end, 128 * kMebibyte);
}

// ---- From outside ------------------------------------------------------------------------------------------------

TEST_F(ReaderLog, AReaderFromOutsideMakesWritesFailBeforeTheDiskIsFull) {
  // The real bound, with payloads to match, or a small one.
  const std::int64_t log_bytes_max = is_full_run() ? SqliteOptions{}.log_bytes_max : 6 * kMebibyte;
  const std::size_t payload_bytes = is_full_run() ? kPayloadBytesMax - 10 : 20'000;
  open({.log_bytes_max = log_bytes_max});
  ASSERT_TRUE(enqueue(10));
  std::optional<PlainConnection> outside(std::in_place, path());
  outside->run("BEGIN");
  EXPECT_EQ(outside->answer("SELECT count(*) FROM jobs"), "1");

  int written = 0;
  Result<Enqueued> answer = enqueue(payload_bytes);
  for (; answer && written < 100'000; ++written) answer = enqueue(payload_bytes);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::store_full);
  EXPECT_THAT(answer.error().message, HasSubstr("reader from outside"));
  const std::int64_t grown = log_bytes();
  EXPECT_GE(grown, log_bytes_max);
  EXPECT_LT(grown, log_bytes_max + 8 * kMebibyte);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(error_of(enqueue(payload_bytes)).code, ErrorCode::store_full);
  EXPECT_EQ(log_bytes(), grown);
  expect_reads_are_good();
  // What it sees is what it saw.
  EXPECT_EQ(outside->answer("SELECT count(*) FROM jobs"), "1");

  outside.reset();
  EXPECT_TRUE(enqueue(payload_bytes));
  EXPECT_LT(log_bytes(), 128 * kMebibyte);
  expect_reads_are_good();
  store_.reset();
  EXPECT_THAT(rows_on_disk(path()).faults, IsEmpty());
  std::printf(
      "REPORT log: a reader from outside: %d writes, then store_full at %lld MiB of log while reads went on; "
      "after its end the next write worked\n",
      written, static_cast<long long>(grown / kMebibyte));
}

TEST_F(ReaderLog, TheLogIsSmallWithinFiveSecondsOfALongReadersEnd) {
  open();
  ASSERT_TRUE(enqueue(10));
  std::optional<PlainConnection> outside(std::in_place, path());
  outside->run("BEGIN");
  outside->answer("SELECT count(*) FROM jobs");
  const std::int64_t goal = (is_full_run() ? 900 : 150) * kMebibyte;
  while (log_bytes() < goal) ASSERT_TRUE(enqueue(kPayloadBytesMax - 10));
  const std::int64_t grown = log_bytes();

  outside.reset();
  const auto begin = steady_clock::now();
  while (log_bytes() >= 128 * kMebibyte && steady_clock::now() < begin + 10s) std::this_thread::sleep_for(10ms);
  const auto took = std::chrono::ceil<milliseconds>(steady_clock::now() - begin);
  EXPECT_LT(took, 5s);
  EXPECT_LT(log_bytes(), 128 * kMebibyte);
  std::printf("REPORT log: %lld MiB when a long reader ended, %lld MiB %lld ms later, with nothing written meanwhile\n",
              static_cast<long long>(grown / kMebibyte), static_cast<long long>(log_bytes() / kMebibyte),
              static_cast<long long>(took.count()));
}

}  // namespace
}  // namespace carillon::test
