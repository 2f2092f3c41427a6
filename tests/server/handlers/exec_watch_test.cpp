// Nothing that a program starts outlives its job, however it tries. Every process of a test carries a mark in its
// environment, which it inherits and cannot lose without an exec of its own; the tests look for it in /proc.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "engine/support/engine_test.h"
#include "server/handlers/exec_handler.h"
#include "server/handlers/support/fake_context.h"

namespace carillon::server {
namespace {

using namespace carillon::test;
using namespace std::chrono_literals;

std::string new_mark() {
  static std::atomic<int> last = 0;
  return fmt::format("{}-{}", getpid(), ++last);
}

std::vector<pid_t> marked(const std::string& mark) {
  std::vector<pid_t> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    std::ostringstream environment;
    environment << file.rdbuf();
    if (environment.str().contains("EXEC_MARK=" + mark)) out.push_back(std::stoi(name));
  }
  return out;
}

bool is_there(const std::filesystem::path& file) {
  for (int i = 0; i < 2000; ++i) {
    if (std::filesystem::exists(file)) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

bool all_end(const std::string& mark) {
  for (int i = 0; i < 1000 && !marked(mark).empty(); ++i) std::this_thread::sleep_for(10ms);
  return marked(mark).empty();
}

struct Marked {
  std::string mark = new_mark();
  TestFolder folder;
  std::filesystem::path file = folder.path() / "ready";

  ExecConfig config(std::vector<std::string> argv) const {
    ExecConfig config;
    config.argv = std::move(argv);
    config.allow_root = true;
    config.grace = 100ms;
    config.environment = {{"EXEC_MARK", mark}, {"READY", file}};
    return config;
  }
  ExecConfig script(std::string text) const { return config({"/bin/sh", "-c", std::move(text)}); }
};

Outcome run_program(const ExecConfig& config) {
  FakeContext context;
  return value_of(make_exec_handler(config))(context);
}

// Twice away from its parent, in a session of its own, without any file of ours.
constexpr const char* kDaemon =
    "setsid sh -c 'exec <&- >&- 2>&-; (setsid sleep 1000 & setsid sh -c \"touch $READY; sleep 1000\" &) ; exit 0' & "
    "while [ ! -e $READY ]; do sleep 0.01; done; ";

TEST(ExecWatch, TheMarkIsSeen) {
  const Marked run;
  FakeContext context;
  const Handler handler = value_of(make_exec_handler(run.script(std::string(kDaemon) + "sleep 1000")));
  std::thread running([&] { handler(context); });
  EXPECT_TRUE(is_there(run.file));
  EXPECT_GE(marked(run.mark).size(), 3U);
  context.stop = true;
  running.join();
  EXPECT_TRUE(marked(run.mark).empty());
}

TEST(ExecWatch, ADaemonEndsWithTheProgramThatMadeIt) {
  const Marked run;
  EXPECT_EQ(run_program(run.script(std::string(kDaemon) + "echo 1")).output, "1");
  EXPECT_TRUE(marked(run.mark).empty());
}

TEST(ExecWatch, ADaemonEndsWithTheTimeout) {
  const Marked run;
  ExecConfig config = run.script(std::string("trap '' TERM; ") + kDaemon + "while :; do sleep 1000; done");
  config.timeout = 500ms;
  EXPECT_EQ(run_program(config).error_class, "timeout");
  EXPECT_TRUE(marked(run.mark).empty());
}

TEST(ExecWatch, OneThatForksAndLeavesWithoutEndIsCaught) {
  const Marked run;
  // Each lives only until the next one is there.
  const ExecConfig config = run.config({"/usr/bin/python3", "-c",
                                        "import os\n"
                                        "if os.fork():\n"
                                        "    while not os.path.exists(os.environ['READY']): pass\n"
                                        "    os._exit(0)\n"
                                        "os.setsid()\n"
                                        "for fd in range(3): os.close(fd)\n"
                                        "n = 0\n"
                                        "while True:\n"
                                        "    n += 1\n"
                                        "    if n == 50: os.close(os.open(os.environ['READY'], os.O_CREAT))\n"
                                        "    if os.fork(): os._exit(0)\n"});
  const Duration begun = boot_now();
  EXPECT_EQ(run_program(config).kind, Outcome::Kind::done);
  EXPECT_LT(boot_now() - begun, 60s);
  EXPECT_TRUE(marked(run.mark).empty());
}

TEST(ExecWatch, OneThatMultipliesIsCaught) {
  const Marked run;
  const ExecConfig config = run.config({"/usr/bin/python3", "-c",
                                        "import os, time\n"
                                        "for i in range(7):\n"
                                        "    if os.fork() == 0: os.setsid()\n"
                                        "open(os.environ['READY'], 'w')\n"
                                        "time.sleep(1000)\n"});
  FakeContext context;
  const Handler handler = value_of(make_exec_handler(config));
  std::thread running([&] { handler(context); });
  EXPECT_TRUE(is_there(run.file));
  context.stop = true;
  running.join();
  EXPECT_TRUE(marked(run.mark).empty());
}

TEST(ExecWatch, AllEndWhenTheServerIsKilled) {
  const Marked run;
  const pid_t host = fork();
  if (host == 0) {
    run_program(run.script(std::string(kDaemon) + "sleep 1000"));
    _exit(0);
  }
  EXPECT_TRUE(is_there(run.file));
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
  EXPECT_TRUE(all_end(run.mark));
}

TEST(ExecWatch, AProgramThatKillsItsWatchGainsNothing) {
  const Marked run;
  const Outcome outcome = run_program(run.script(std::string(kDaemon) + "kill -9 $PPID; sleep 1000"));
  EXPECT_EQ(outcome.error_class, "signal");
  EXPECT_TRUE(marked(run.mark).empty());
}

TEST(ExecWatch, ItHoldsNoFileAndLittleMemoryOfTheServer) {
  const Marked run;
  constexpr std::size_t kMuch = std::size_t{256} << 20;
  std::vector<char> much(kMuch, 'x');
  FakeContext context;
  const Handler handler = value_of(make_exec_handler(run.script("touch $READY; echo $PPID > $READY.pid; sleep 1000")));
  std::thread running([&] { handler(context); });
  EXPECT_TRUE(is_there(run.file.string() + ".pid"));
  pid_t watch = 0;
  for (int i = 0; i < 1000 && watch == 0; ++i) {
    std::ifstream(run.file.string() + ".pid") >> watch;
    std::this_thread::sleep_for(2ms);
  }
  std::size_t resident = SIZE_MAX;
  for (int i = 0; i < 1000 && resident > kMuch / 8; ++i) {
    std::size_t whole = 0;
    std::ifstream(fmt::format("/proc/{}/statm", watch)) >> whole >> resident;
    resident *= static_cast<std::size_t>(getpagesize());
    std::this_thread::sleep_for(2ms);
  }
  std::size_t files = 0;
  std::error_code error;
  for ([[maybe_unused]] const auto& fd :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", watch), error)) {
    ++files;
  }
  context.stop = true;
  running.join();
  EXPECT_LE(files, 2U);  // to the server, and for news of its children
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LE(resident, kMuch / 8);
#endif
  EXPECT_EQ(much.back(), 'x');
}

}  // namespace
}  // namespace carillon::server
