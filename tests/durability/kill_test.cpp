// A process that writes is killed at a random moment, again and again on the same file: nothing that it was told is
// lost, and its death does not hinder the next one. (invariant 4)
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>

#include "durability/campaign.h"
#include "durability/ledger.h"
#include "durability/rows_on_disk.h"
#include "durability/writer_process.h"
#include "faults/seeded_random.h"
#include "store/sqlite/sqlite_store.h"
#include "support/results.h"

namespace carillon::test {
namespace {

using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A writer, and what it says.
class Writer {
 public:
  Writer(const std::string& path, unsigned long seed) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    out_ = ends[0];
    fcntl(ends[1], F_SETFD, 0);
    process_ = start_writer({.path = path, .seed = seed, .pipe = ends[1]});
    close(ends[1]);
  }
  ~Writer() {
    kill_now();
    close(out_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  pid_t process() const { return process_; }
  void kill_now() {
    if (process_ == 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  // Reads until something has been said; false if that takes too long.
  bool wait_for_first_word(std::chrono::milliseconds at_most = 30s) {
    read_until(steady_clock::now() + at_most, [&] { return !said_.empty(); });
    return !said_.empty();
  }
  void listen_for(std::chrono::milliseconds time) {
    read_until(steady_clock::now() + time, [] { return false; });
  }
  // Until it has said so much, however slow the machine is.
  void listen_for_lines(std::ptrdiff_t lines) {
    read_until(steady_clock::now() + 60s, [&] { return std::ranges::count(said_, '\n') >= lines; });
  }
  // To the end of what a dead writer has said.
  void listen_to_the_end() { listen_for(30s); }

  template <typename Use>
  void each_line(Use use) const {
    for (std::size_t begin = 0; begin < said_.size();) {
      const std::size_t end = said_.find('\n', begin);
      if (end == std::string::npos) throw std::runtime_error("the last line is cut off");
      use(std::string_view(said_).substr(begin, end - begin));
      begin = end + 1;
    }
  }

 private:
  template <typename Enough>
  void read_until(steady_clock::time_point deadline, Enough enough) {
    while (!enough()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
      if (left.count() <= 0) return;
      pollfd waiting{.fd = out_, .events = POLLIN, .revents = 0};
      if (poll(&waiting, 1, static_cast<int>(left.count())) <= 0) continue;
      std::array<char, 65536> bytes{};
      const auto count = read(out_, bytes.data(), bytes.size());
      if (count <= 0) return;
      said_.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }

  int out_ = -1;
  pid_t process_ = 0;
  std::string said_;
};

constexpr int kKillsPerFile = 10;

TEST(Kill, NothingAcknowledgedIsLost) {  // invariants 4, 5
  const int kills = is_full_run() ? 200 : 20;
  SeededRandom random(7);
  std::size_t acknowledged = 0;
  std::size_t in_doubt = 0;
  int while_opening = 0;
  steady_clock::duration slowest_open{};
  for (int first = 0; first < kills; first += kKillsPerFile) {
    const ScratchFolder folder;
    const std::string path = folder.file("jobs.db");
    Ledger ledger;
    for (int i = first; i < first + kKillsPerFile; ++i) {
      SCOPED_TRACE(fmt::format("kill {}", i));
      const bool while_it_opens = i % kKillsPerFile % 4 == 0;
      const auto lines = static_cast<std::ptrdiff_t>(20 + random.below(200));
      const std::chrono::milliseconds after(1 + random.below(12));
      Writer writer(path, static_cast<unsigned long>(i) + 1);
      // Mostly once it writes; now and then while it opens the file, for the first time too.
      if (!while_it_opens) writer.listen_for_lines(lines);
      writer.listen_for(after);
      writer.kill_now();
      writer.listen_to_the_end();
      bool said_something = false;
      writer.each_line([&](std::string_view line) {
        ledger.replay(line);
        said_something = true;
      });
      while_opening += !said_something;
      in_doubt += ledger.in_doubt();

      const auto begin = steady_clock::now();
      {
        auto store = open_sqlite({.path = path});
        ASSERT_TRUE(store) << store.error().message;
        slowest_open = std::max(slowest_open, steady_clock::now() - begin);
        EXPECT_TRUE((*store)->reader().counts("default"));
      }
      const Snapshot found = rows_on_disk(path);
      ASSERT_THAT(ledger.violations(found), IsEmpty());
      ledger.settle_doubts(found);
    }
    acknowledged += ledger.acknowledgements();
  }
  std::printf(
      "REPORT kill -9: %d kills (%d before the first write), %zu writes acknowledged, %zu in doubt, none lost; "
      "slowest open after it %lld ms\n",
      kills, while_opening, acknowledged, in_doubt,
      static_cast<long long>(std::chrono::ceil<std::chrono::milliseconds>(slowest_open).count()));
  EXPECT_GT(acknowledged, 100U);
  EXPECT_GT(in_doubt, 0U);
}

// ---- Two at once -------------------------------------------------------------------------------------------------

constexpr auto kRefusedWithin = 1s;

TEST(SecondProcess, IsRefusedWithinASecondAndToldWhoHasTheFile) {
  const ScratchFolder folder;
  const std::string path = folder.file("jobs.db");
  Writer writer(path, 1);
  ASSERT_TRUE(writer.wait_for_first_word());

  const auto begin = steady_clock::now();
  const Error error = error_of(open_sqlite({.path = path}));
  const auto took = steady_clock::now() - begin;
  EXPECT_LT(took, kRefusedWithin);
  EXPECT_EQ(error.code, ErrorCode::conflict);
  EXPECT_THAT(error.message, HasSubstr(fmt::format("process {} ", writer.process())));
  EXPECT_THAT(error.message, HasSubstr(path));
  expect_one_line(error);
  std::printf("REPORT second process: refused after %lld us with: %s\n",
              static_cast<long long>(std::chrono::ceil<std::chrono::microseconds>(took).count()),
              error.message.c_str());

  // By another name it is still the same file.
  std::filesystem::create_symlink(path, folder.file("other.db"));
  EXPECT_EQ(error_of(open_sqlite({.path = folder.file("other.db")})).code, ErrorCode::conflict);

  writer.kill_now();
  EXPECT_TRUE(open_sqlite({.path = path}));
}

TEST(SecondProcess, ASecondOpenInTheSameProcessIsRefusedToo) {
  const ScratchFolder folder;
  const std::string path = folder.file("jobs.db");
  auto first = open_sqlite({.path = path});
  ASSERT_TRUE(first);
  const Error error = error_of(open_sqlite({.path = path}));
  EXPECT_EQ(error.code, ErrorCode::conflict);
  EXPECT_THAT(error.message, HasSubstr(fmt::format("process {} ", getpid())));

  // The first one has not suffered, and the file is free when it is closed.
  EXPECT_TRUE((*first)->jobs().enqueue(std::array{NewJob{.type = "mail.send"}}).front());
  first->reset();
  EXPECT_TRUE(open_sqlite({.path = path}));
}

TEST(SecondProcess, AWriterThatComesSecondSaysSoAndEnds) {
  const ScratchFolder folder;
  const std::string path = folder.file("jobs.db");
  auto first = open_sqlite({.path = path});
  ASSERT_TRUE(first);
  Writer writer(path, 1);
  writer.listen_to_the_end();
  std::vector<std::string> lines;
  writer.each_line([&](std::string_view line) { lines.emplace_back(line); });
  EXPECT_THAT(lines, ElementsAre(HasSubstr(fmt::format("process {} ", getpid()))));
}

}  // namespace
}  // namespace carillon::test
