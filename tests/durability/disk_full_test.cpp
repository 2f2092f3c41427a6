// A full disk refuses writes and nothing else, and the store goes on by itself when there is space again.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "durability/loaded_file.h"

namespace carillon::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kSteps = 60;

// The disk takes `bytes` more and no byte after that.
void fill_up_under_load(DiskModel disk, std::uint64_t bytes, int& refused) {
  SCOPED_TRACE(fmt::format("full after {} bytes", bytes));
  LoadedFile file(disk);
  ASSERT_TRUE(file.open());
  file.vfs().fill_disk_after(bytes);
  const LoadedFile::Answers full = file.work(kSteps);
  for (const auto& [code, count] : full.writes) {
    EXPECT_EQ(code, ErrorCode::store_full);
    refused += count;
  }
  EXPECT_THAT(full.reads, IsEmpty());
  EXPECT_EQ(file.jobs_shown(), file.ledger().acknowledged().size());
  EXPECT_THAT(file.violations(), IsEmpty());

  file.vfs().empty_disk();
  EXPECT_TRUE(file.work(kSteps / 4, kLoadSeed + 1).all_good());
  EXPECT_THAT(file.violations(), IsEmpty());
  file.close();
  EXPECT_TRUE(file.open());
  EXPECT_THAT(file.violations(), IsEmpty());
}

TEST(DiskFull, WritesAreRefusedReadsGoOnAndItHeals) {
  std::uint64_t bytes_of_load = 0;
  {
    LoadedFile file(DiskModel::in_memory);
    ASSERT_TRUE(file.open());
    file.vfs().reset_counts();
    ASSERT_TRUE(file.work(kSteps).all_good());
    bytes_of_load = file.vfs().counts().bytes_written;
  }
  const std::uint64_t sizes = is_full_run() ? 1000 : 30;
  int refused = 0;
  for (std::uint64_t i = 0; i < sizes && !testing::Test::HasFailure(); ++i) {
    // Real files now and then: the same calls, by way of the kernel.
    fill_up_under_load(i % 5 == 4 ? DiskModel::real_files : DiskModel::in_memory, bytes_of_load * i / sizes, refused);
  }
  std::printf(
      "REPORT disk full: at %zu of %zu bytes of a load, %d writes answered store_full, all reads good, healed "
      "each time\n",
      static_cast<std::size_t>(sizes), static_cast<std::size_t>(bytes_of_load), refused);
  EXPECT_GT(refused, 0);
}

TEST(DiskFull, OpeningOnAFullDiskIsRefusedAndWorksWhenThereIsSpace) {
  int refused = 0;
  for (std::uint64_t bytes = 0; bytes < 600'000; bytes += is_full_run() ? 4'000U : 40'000U) {
    SCOPED_TRACE(fmt::format("full after {} bytes", bytes));
    LoadedFile file(DiskModel::in_memory);
    file.vfs().fill_disk_after(bytes);
    const Result<void> opened = file.open();
    if (!opened) {
      EXPECT_EQ(opened.error().code, ErrorCode::store_full) << opened.error().message;
      ++refused;
    }
    file.vfs().empty_disk();
    EXPECT_TRUE(opened || file.open());
    EXPECT_TRUE(file.work(5).all_good());
    EXPECT_THAT(file.violations(), IsEmpty());
  }
  std::printf("REPORT disk full: %d times while opening a new file: store_full, and opened when there was space\n",
              refused);
  EXPECT_GT(refused, 0);
}

// ---- A real file system of 8 MiB ---------------------------------------------------------------------------------

constexpr std::size_t kTmpfsBytes = 8U << 20;

class SmallTmpfs {
 public:
  SmallTmpfs() {
    const std::string size = fmt::format("size={}", kTmpfsBytes);
    if (mount("carillon-test", folder_.path().c_str(), "tmpfs", 0, size.c_str()) != 0) why_not_ = std::strerror(errno);
  }
  ~SmallTmpfs() {
    if (mounted()) umount2(folder_.path().c_str(), MNT_DETACH);
  }
  SmallTmpfs(const SmallTmpfs&) = delete;
  SmallTmpfs& operator=(const SmallTmpfs&) = delete;

  bool mounted() const { return why_not_.empty(); }
  const std::string& why_not() const { return why_not_; }
  std::string file(const std::string& name) const { return folder_.file(name); }

  // A file of so many bytes, as some other program might write one.
  void put_ballast(std::size_t bytes) const {
    std::ofstream out(file("ballast"), std::ios::binary);
    const std::vector<char> zeros(bytes);
    out.write(zeros.data(), static_cast<std::streamsize>(zeros.size()));
    out.flush();
  }
  void remove_ballast() const { std::filesystem::remove(file("ballast")); }
  std::size_t free_bytes() const { return std::filesystem::space(folder_.path()).free; }

 private:
  ScratchFolder folder_;
  std::string why_not_;
};

bool left_out(const SmallTmpfs& tmpfs) {
  if (tmpfs.mounted()) return false;
  std::printf("REPORT disk full: the real 8 MiB tmpfs was left out: mount: %s\n", tmpfs.why_not().c_str());
  return true;
}

TEST(DiskFull, ARealSmallFileSystemFillsUpAndHeals) {
  SmallTmpfs tmpfs;
  if (left_out(tmpfs)) GTEST_SKIP() << tmpfs.why_not();
  FixedClock clock;
  Ledger ledger;
  tmpfs.put_ballast(2U << 20);
  auto opened = open_sqlite({.path = tmpfs.file("jobs.db")}, clock);
  ASSERT_TRUE(opened) << opened.error().message;
  Store& store = **opened;
  Load load(store.jobs(), straight_to(store), ledger, {.errors_change_nothing = true, .payload_bytes_max = 60'000});

  const auto reads_are_good = [&] {
    EXPECT_TRUE(store.reader().jobs({}, {}, 100));
    EXPECT_TRUE(store.reader().counts("default"));
    EXPECT_TRUE(store.reader().job("default", ledger.acknowledged().rbegin()->first));
    EXPECT_TRUE(store.jobs().load_live({}, clock.wall(), 1000));
    EXPECT_TRUE(store.jobs().leases());
  };
  int written = 0;
  int refused = 0;
  for (int i = 0; i < 100'000 && refused < 50; ++i) {
    if (const auto answer = load.step(); answer) {
      ++written;
    } else {
      ++refused;
      EXPECT_EQ(answer.error().code, ErrorCode::store_full) << answer.error().message;
      reads_are_good();
    }
  }
  EXPECT_EQ(refused, 50);
  EXPECT_THAT(ledger.violations(rows_on_disk(tmpfs.file("jobs.db"))), IsEmpty());

  tmpfs.remove_ballast();
  int healed = 0;
  for (int i = 0; i < 20; ++i) healed += load.step().has_value();
  EXPECT_EQ(healed, 20);
  EXPECT_THAT(ledger.violations(rows_on_disk(tmpfs.file("jobs.db"))), IsEmpty());
  opened->reset();
  EXPECT_THAT(ledger.violations(rows_on_disk(tmpfs.file("jobs.db"))), IsEmpty());
  std::printf(
      "REPORT disk full: real 8 MiB tmpfs: %d writes, then %d answered store_full while reads went on, then %d "
      "of 20 after space was freed, without reopening\n",
      written, refused, healed);
}

TEST(DiskFull, ARealSmallFileSystemThatIsFullRefusesToOpen) {
  SmallTmpfs tmpfs;
  if (left_out(tmpfs)) GTEST_SKIP() << tmpfs.why_not();
  std::map<ErrorCode, int> refusals;
  int opened_at_once = 0;
  for (std::size_t free = 0; free <= 800'000; free += is_full_run() ? 4096U : 10U * 4096U) {
    SCOPED_TRACE(fmt::format("{} bytes free", free));
    FixedClock clock;
    Ledger ledger;
    const std::string path = tmpfs.file(fmt::format("jobs-{}.db", free));
    tmpfs.put_ballast(tmpfs.free_bytes() - free);
    {
      auto store = open_sqlite({.path = path}, clock);
      if (store) {
        ++opened_at_once;
        Load load((*store)->jobs(), straight_to(**store), ledger, {.errors_change_nothing = true});
        for (int i = 0; i < 20; ++i) {
          const auto answer = load.step();
          EXPECT_EQ(answer ? ErrorCode::store_full : answer.error().code, ErrorCode::store_full);
        }
        tmpfs.remove_ballast();
        EXPECT_TRUE(load.step());
      } else {
        ++refusals[store.error().code];
        EXPECT_EQ(store.error().code, ErrorCode::store_full) << store.error().message;
        tmpfs.remove_ballast();
        store = open_sqlite({.path = path}, clock);
        ASSERT_TRUE(store) << store.error().message;
        Load load((*store)->jobs(), straight_to(**store), ledger, {.errors_change_nothing = true});
        EXPECT_TRUE(load.step());
      }
    }
    EXPECT_THAT(ledger.violations(rows_on_disk(path)), IsEmpty());
    for (const char* suffix : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(path + suffix);
  }
  std::printf("REPORT disk full: real tmpfs with little space left: %d times refused with store_full, %d opened\n",
              refusals[ErrorCode::store_full], opened_at_once);
}

}  // namespace
}  // namespace carillon::test
