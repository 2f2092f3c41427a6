#include <carillon/log.h>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <thread>
#include <vector>

#include "base/json.h"
#include "support/results.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::value_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Standard error of the log under test, and who reads it.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_reader();
    close(ends_[1]);
  }

  int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) close(std::exchange(ends_[0], -1));
  }
  // Lines that are there, waiting for the first ones.
  std::vector<std::string> lines(std::size_t at_least) {
    std::array<char, 65536> bytes{};
    while (complete_.size() < at_least) {
      const ssize_t got = read(ends_[0], bytes.data(), bytes.size());
      if (got <= 0) break;
      take(std::string_view(bytes.data(), static_cast<std::size_t>(got)));
    }
    return complete_;
  }
  std::vector<std::string> lines_until_quiet() {
    std::array<char, 65536> bytes{};
    pollfd readable{.fd = ends_[0], .events = POLLIN, .revents = 0};
    while (poll(&readable, 1, 200) > 0) {
      const ssize_t got = read(ends_[0], bytes.data(), bytes.size());
      if (got <= 0) break;
      take(std::string_view(bytes.data(), static_cast<std::size_t>(got)));
    }
    return complete_;
  }

 private:
  void take(std::string_view bytes) {
    for (const char c : bytes) {
      if (c == '\n') {
        complete_.push_back(std::exchange(part_, {}));
      } else {
        part_ += c;
      }
    }
  }

  std::array<int, 2> ends_{-1, -1};
  std::string part_;
  std::vector<std::string> complete_;
};

TEST(LogTest, WritesWhatItsLevelAllowsAndNothingBelow) {
  Pipe pipe;
  {
    Log log({.level = LogLevel::warn, .fd = pipe.writer()});
    EXPECT_FALSE(log.wants(LogLevel::info));
    EXPECT_TRUE(log.wants(LogLevel::error));
    log.write({LogLevel::info, "quiet"});
    log.write({LogLevel::warn, "first"});
    log.write({LogLevel::error, "second"});
  }
  const auto lines = pipe.lines(2);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], HasSubstr(R"("msg":"first")"));
  EXPECT_THAT(lines[1], HasSubstr(R"("level":"error")"));
}

TEST(LogTest, IsJsonWhereNoTerminalIsAndTextIfTold) {
  Pipe pipe;
  EXPECT_TRUE(Log({.fd = pipe.writer()}).is_json());
  EXPECT_FALSE(Log({.format = LogFormat::text, .fd = pipe.writer()}).is_json());
  EXPECT_TRUE(Log({.format = LogFormat::json, .fd = pipe.writer()}).is_json());
}

TEST(LogTest, ManyThreadsWriteWholeLines) {
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  Pipe pipe;
  Log log({.fd = pipe.writer()});
  std::vector<std::thread> writers;
  for (int t = 0; t < kThreads; ++t) {
    writers.emplace_back([&log, t] {
      for (int i = 0; i < kEach; ++i) {
        LogLine line(LogLevel::info, "line");
        log.write(line.number("thread", t).number("number", i));
      }
    });
  }
  const auto lines = pipe.lines(kThreads * kEach);
  for (std::thread& writer : writers) writer.join();
  std::vector<int> next(kThreads, 0);
  for (const std::string& text : lines) {
    const Json json = value_of(parse_json(text));
    const int thread = std::stoi(json.find("thread")->text);
    EXPECT_EQ(std::stoi(json.find("number")->text), next.at(static_cast<std::size_t>(thread))++);
  }
  EXPECT_EQ(log.dropped(), 0U);
}

TEST(LogTest, AReaderThatDoesNotReadCostsLinesAndNobodysTime) {
  Pipe pipe;
  Log log({.fd = pipe.writer(), .waiting_max = 100});
  const auto begun = std::chrono::steady_clock::now();
  constexpr int kLines = 20'000;  // far more than a pipe and the queue hold
  for (int i = 0; i < kLines; ++i) log.write({LogLevel::info, "a line of the log"});
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
  EXPECT_GT(log.dropped(), 10'000U);

  const auto lines = pipe.lines_until_quiet();
  std::uint64_t told = 0;
  std::uint64_t written = 0;
  for (const std::string& text : lines) {
    const Json json = value_of(parse_json(text));
    if (const Json* const dropped = json.find("dropped")) {
      told += std::stoull(dropped->text);
      EXPECT_EQ(json.find("level")->text, "warn");
    } else {
      ++written;
    }
  }
  EXPECT_EQ(told, log.dropped());
  EXPECT_EQ(written + told, kLines);
}

TEST(LogTest, TheEndDoesNotWaitForAReaderThatDoesNotRead) {
  Pipe pipe;
  Log log({.fd = pipe.writer(), .stop_time = 200ms});
  for (int i = 0; i < 5000; ++i) log.write({LogLevel::info, "a line of the log"});
  const auto begun = std::chrono::steady_clock::now();
  log.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
  log.stop();
  log.write({LogLevel::info, "too late"});
  EXPECT_GT(log.dropped(), 0U);
}

TEST(LogTest, AReaderThatIsGoneCostsLinesOnly) {
  signal(SIGPIPE, SIG_IGN);  // NOLINT(*-cstyle-cast): as the server does
  Pipe pipe;
  pipe.close_reader();
  Log log({.fd = pipe.writer()});
  log.write({LogLevel::info, "nobody reads this"});
  log.stop();
  EXPECT_EQ(log.dropped(), 1U);
}

}  // namespace
}  // namespace carillon
