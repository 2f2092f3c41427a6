#include "server/handlers/exec_handler.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "engine/support/engine_test.h"
#include "server/handlers/exec_process.h"
#include "server/handlers/support/fake_context.h"

namespace carillon::server {
namespace {

using namespace carillon::test;
using namespace std::chrono_literals;
using Kind = Outcome::Kind;

// The program is the operator's to choose: here a shell with a fixed script.
ExecConfig script(std::string text) {
  ExecConfig config;
  config.argv = {"/bin/sh", "-c", std::move(text)};
  config.grace = 200ms;
  config.allow_root = true;
  return config;
}

ExecConfig program(std::string path) {
  ExecConfig config = script("");
  config.argv = {std::move(path)};
  return config;
}

Outcome run(const ExecConfig& config, const std::string& payload = "null") {
  FakeContext context(payload);
  return value_of(make_exec_handler(config))(context);
}

bool is_alive(pid_t pid) {
  if (kill(pid, 0) != 0) return false;
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(stat, line);
  const std::size_t end = line.rfind(')');
  return end != std::string::npos && line.size() > end + 2 && line[end + 2] != 'Z';
}

// Waits until it is gone.
bool ends(pid_t pid) {
  for (int i = 0; i < 1000 && is_alive(pid); ++i) std::this_thread::sleep_for(10ms);
  return !is_alive(pid);
}

// Waits for a program to write the number of a process into a file.
pid_t pid_in(const std::filesystem::path& file) {
  for (int i = 0; i < 2000; ++i) {
    std::ifstream in(file);
    pid_t pid = 0;
    std::string word;
    if (in >> pid >> word) return pid;
    std::this_thread::sleep_for(10ms);
  }
  return 0;
}

TEST(ExecHandler, JsonOnItsOutputIsTheOutput) {
  EXPECT_EQ(run(script(R"(echo ' {"sent": 3} ')")).output, R"({"sent": 3})");
  EXPECT_EQ(run(script("true")).output, "");
  EXPECT_EQ(run(script("true")).kind, Kind::done);
  EXPECT_EQ(run(script("echo plain text")).output, R"("plain text\n")");
  EXPECT_EQ(run(script("printf '\\377'")).output, "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(run(script("echo warning >&2; echo 1")).output, "1");
}

TEST(ExecHandler, ThePayloadIsItsInputByteForByte) {
  const std::string payload = R"({"a": 1.50, "b": "$(touch /tmp/x) `id` ; rm -rf / | & > < * ? ' \" \\ ä"})";
  EXPECT_EQ(run(script("cat"), payload).output, payload);
  const std::string big = "\"" + std::string(1'000'000, 'x') + "\"";
  EXPECT_EQ(run(script("wc -c"), big).output, "1000002");
  // One that does not read it harms nobody.
  EXPECT_EQ(run(script("exit 0"), big).kind, Kind::done);
}

TEST(ExecHandler, NothingOfAJobIsReadByAShell) {
  TestFolder folder;
  const std::string canary = folder.path() / "canary";
  const ExecConfig config = program("/usr/bin/env");
  for (const std::string& evil :
       {fmt::format("$(touch {})", canary), fmt::format("`touch {}`", canary), fmt::format("; touch {}", canary),
        fmt::format("| touch {}", canary), fmt::format("&& touch {} #", canary), fmt::format("\ntouch {}\n", canary),
        fmt::format("' ; touch {} ; '", canary), fmt::format("\" ; touch {} ; \"", canary),
        fmt::format("() {{ :; }}; touch {}", canary), std::string("-rf *"), std::string("a=b"), std::string("%s%n")}) {
    FakeContext context(R"("x")");
    context.running.subject = evil;
    const Outcome outcome = value_of(make_exec_handler(config))(context);
    EXPECT_EQ(outcome.kind, Kind::done);
    EXPECT_THAT(value_of(JsonValue::parse(outcome.output)).as_string(),
                ::testing::HasSubstr("CARILLON_SUBJECT=" + evil + "\n"));
    EXPECT_FALSE(std::filesystem::exists(canary)) << evil;
  }
  // The negative control: a shell that is told to read it does.
  FakeContext context(R"("x")");
  context.running.subject = fmt::format("touch {}", canary);
  EXPECT_EQ(value_of(make_exec_handler(script("eval \"$CARILLON_SUBJECT\"")))(context).kind, Kind::done);
  EXPECT_TRUE(std::filesystem::exists(canary));
}

TEST(ExecHandler, ItsEnvironmentIsCleanAndSaysWhichJobItIs) {
  setenv("CARILLON_ADMIN_KEY", "secret", 1);
  setenv("SOME_TOKEN", "secret", 1);
  ExecConfig config = program("/usr/bin/env");
  config.environment = {{"REPORTS", "/srv/reports"}};
  const std::string seen = value_of(JsonValue::parse(run(config).output)).as_string();
  unsetenv("CARILLON_ADMIN_KEY");
  unsetenv("SOME_TOKEN");
  EXPECT_EQ(seen,
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nLANG=C.UTF-8\nREPORTS=/srv/reports\n"
            "CARILLON_JOB_ID=" +
                format_job_id({.value = 1}) +
                "\nCARILLON_TENANT=acme\nCARILLON_QUEUE=default\n"
                "CARILLON_TYPE=report.build\nCARILLON_ATTEMPT=1\nCARILLON_TOKEN=0\n"
                "CARILLON_RUN_AT=2026-03-02T12:00:00.000Z\n");
}

TEST(ExecHandler, TheExitCodeDecides) {
  const Outcome temporary = run(script("echo busy >&2; exit 75"));
  EXPECT_EQ(temporary.kind, Kind::failed);
  EXPECT_EQ(temporary.error_class, "tempfail");
  EXPECT_EQ(temporary.error, "/bin/sh ended with exit code 75: busy");
  const Outcome data = run(script("echo wrong; exit 65"));
  EXPECT_EQ(data.kind, Kind::permanent);
  EXPECT_EQ(data.error_class, "dataerr");
  EXPECT_EQ(data.error, "/bin/sh ended with exit code 65: wrong");
  for (const int code : {1, 2, 64, 66, 74, 76, 126, 127, 128, 255}) {
    const Outcome other = run(script(fmt::format("exit {}", code)));
    EXPECT_EQ(other.kind, Kind::failed) << code;
    EXPECT_EQ(other.error_class, "exit") << code;
  }
  const Outcome killed = run(script("kill -SEGV $$"));
  EXPECT_EQ(killed.kind, Kind::failed);
  EXPECT_EQ(killed.error_class, "signal");
}

TEST(ExecHandler, AProgramThatCannotBeStartedSaysWhy) {
  TestFolder folder;
  const std::string path = folder.path() / "report";
  std::filesystem::copy_file("/bin/true", path);
  const Handler handler = value_of(make_exec_handler(program(path)));
  FakeContext context;
  EXPECT_EQ(handler(context).kind, Kind::done);
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  EXPECT_EQ(handler(context).error, fmt::format("cannot start \"{}\": Permission denied", path));
  std::filesystem::remove(path);
  const Outcome missing = handler(context);
  EXPECT_EQ(missing.kind, Kind::failed);
  EXPECT_EQ(missing.error_class, "exec");
  EXPECT_EQ(missing.error, fmt::format("cannot start \"{}\": No such file or directory", path));
  ExecConfig config = program("/bin/true");
  config.cwd = "/nowhere";
  EXPECT_EQ(run(config).error, "cannot start \"/bin/true\" in \"/nowhere\": No such file or directory");
}

TEST(ExecHandler, BigOutputIsKeptUpToTheCapAndDoesNotBlock) {
  const Outcome big = run(script("head -c 10000000 /dev/zero | tr '\\0' x; echo end"));
  EXPECT_EQ(big.kind, Kind::done);
  const std::string kept = value_of(JsonValue::parse(big.output)).as_string();
  EXPECT_EQ(kept.size(), kOutputBytesMax);
  EXPECT_TRUE(kept.ends_with("xend\n"));
  const Outcome noisy = run(script("head -c 10000000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 1"));
  EXPECT_LT(noisy.error.size(), 10'000U);
  EXPECT_TRUE(noisy.error.ends_with("xend")) << noisy.error.substr(0, 100);
}

TEST(ExecHandler, EndlessOutputEndsWithTheTimeout) {
  ExecConfig config = script("yes");
  config.timeout = 300ms;
  EXPECT_EQ(run(config).error_class, "timeout");
}

TEST(ExecHandler, ATimeoutKillsTheWholeGroupEvenIfItDoesNotListen) {
  TestFolder folder;
  const auto file = folder.path() / "pid";
  ExecConfig config = script(fmt::format(
      "trap '' TERM; (trap '' TERM; sleep 1000; sleep 1000) & echo $! ok > {}; while :; do sleep 1000; done",
      file.string()));
  config.timeout = 500ms;
  const Duration begun = boot_now();
  const Outcome late = run(config);
  EXPECT_EQ(late.kind, Kind::failed);
  EXPECT_EQ(late.error_class, "timeout");
  EXPECT_LT(boot_now() - begun, 30s);
  const pid_t left = pid_in(file);
  ASSERT_GT(left, 0);
  EXPECT_TRUE(ends(left));
}

TEST(ExecHandler, AProgramThatListensMayTidyUp) {
  ExecConfig config = script("trap 'echo tidied >&2; exit 3' TERM; while :; do sleep 0.05; done");
  config.timeout = 500ms;
  config.grace = 20s;
  const Outcome late = run(config);
  EXPECT_EQ(late.error_class, "timeout");
  EXPECT_THAT(late.error, ::testing::HasSubstr("tidied"));
}

TEST(ExecHandler, ACancelledJobStopsItsProgram) {
  TestFolder folder;
  const auto file = folder.path() / "pid";
  FakeContext context;
  const Handler handler =
      value_of(make_exec_handler(script(fmt::format("echo $$ ok > {}; sleep 1000", file.string()))));
  Outcome outcome;
  std::thread running([&] { outcome = handler(context); });
  const pid_t pid = pid_in(file);
  context.stop = true;
  running.join();
  ASSERT_GT(pid, 0);
  EXPECT_EQ(outcome.error_class, "cancelled");
  EXPECT_FALSE(is_alive(pid));
}

TEST(ExecHandler, WhatAProgramLeavesBehindEndsWithIt) {
  TestFolder folder;
  const auto file = folder.path() / "pid";
  // The one left behind holds the output open, too.
  const Duration begun = boot_now();
  EXPECT_EQ(run(script(fmt::format("sleep 1000 & echo $! ok > {}; echo 1", file.string()))).output, "1");
  EXPECT_LT(boot_now() - begun, 30s);
  const pid_t left = pid_in(file);
  ASSERT_GT(left, 0);
  EXPECT_TRUE(ends(left));
}

TEST(ExecHandler, AProgramEndsWithTheProcessThatStartedIt) {
  TestFolder folder;
  const auto file = folder.path() / "pid";
  const pid_t host = fork();
  if (host == 0) {
    FakeContext context;
    const auto outcome =
        value_of(make_exec_handler(script(fmt::format("echo $$ ok > {}; exec sleep 1000", file.string()))))(context);
    _exit(outcome.kind == Kind::done ? 0 : 1);
  }
  const pid_t program = pid_in(file);
  ASSERT_GT(program, 0);
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
  EXPECT_TRUE(ends(program));
}

TEST(ExecHandler, NoFileOfOursIsOpenInIt) {
  // Opened without care, as a library might.
  const int careless = open("/etc/passwd", O_RDONLY);  // NOLINT(*-open-cloexec, android-*)
  ASSERT_GE(careless, 3);
  // 3 is the folder that ls itself reads.
  EXPECT_EQ(run(script("exec ls -m /proc/self/fd")).output, R"("0, 1, 2, 3\n")");
  close(careless);
}

TEST(ExecHandler, ItDoesNotLeakFilesOrProcessesHere) {
  const auto open_files = [] {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
  };
  run(script("true"));
  // A watch whose server was killed, by an earlier test, has come to us.
  for (int i = 0; i < 1000 && waitpid(-1, nullptr, WNOHANG) >= 0; ++i) std::this_thread::sleep_for(10ms);
  const std::size_t before = open_files();
  for (int i = 0; i < 20; ++i) {
    run(script("true"));
    ExecConfig lost = script("true");
    lost.cwd = "/nowhere";
    run(lost);
  }
  EXPECT_EQ(open_files(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // no child is left
}

TEST(ExecHandler, ManyAtOnceStayApart) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) {
        const std::string payload = fmt::format("{}", i * 100 + round);
        if (run(script("cat"), payload).output == payload) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 40);
}

TEST(ExecHandler, LimitsHold) {
  ExecConfig config = script("head -c 100000 /dev/zero > \"$OUT\" || exit 65");
  TestFolder folder;
  config.environment = {{"OUT", folder.path() / "file"}};
  config.file_bytes_max = 1000;
  EXPECT_NE(run(config).kind, Kind::done);
  EXPECT_LE(std::filesystem::file_size(folder.path() / "file"), 1000U);
  ExecConfig files = script("ulimit -n");
  files.open_files_max = 17;
  EXPECT_EQ(run(files).output, "17");
  ExecConfig busy = script("while :; do :; done");
  busy.cpu_seconds_max = 1;
  EXPECT_EQ(run(busy).error_class, "signal");
}

TEST(ExecHandler, AsRootItRunsAsTheUserThatIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can change users";
  ExecConfig config = script("id -un; id -gn; id -G | wc -w; grep NoNewPrivs /proc/self/status");
  config.user = "nobody";
  const std::string seen = value_of(JsonValue::parse(run(config).output)).as_string();
  EXPECT_EQ(seen, "nobody\nnogroup\n1\nNoNewPrivs:\t1\n");
  config.user = "no-such-user";
  EXPECT_EQ(error_of(make_exec_handler(config)).message, "there is no user \"no-such-user\" on this machine");
}

TEST(ExecHandler, NothingRunsWithRootsRightsUnlessThatIsSaid) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has them";
  ExecConfig config = script("id -u");
  config.allow_root = false;
  const std::string refusal = error_of(make_exec_handler(config)).message;
  EXPECT_THAT(refusal, ::testing::HasSubstr("user = "));
  EXPECT_THAT(refusal, ::testing::HasSubstr("allow_root = true"));
  config.user = "root";
  EXPECT_EQ(error_of(make_exec_handler(config)).message, refusal);
  config.user = "nobody";
  EXPECT_EQ(run(config).kind, Kind::done);
  config.user = "root";
  config.allow_root = true;
  EXPECT_EQ(run(config).output, "0");
}

TEST(ExecHandler, RightsAndLimitsAreTakenFromEveryProgram) {
  const std::string seen =
      value_of(JsonValue::parse(run(script("grep NoNewPrivs /proc/self/status; ulimit -c; ulimit -n; ulimit -p; "
                                           "grep -c 'Max data size *4294967296' /proc/self/limits"))
                                    .output))
          .as_string();
  EXPECT_EQ(seen, "NoNewPrivs:\t1\n0\n1024\n4096\n1\n");
}

TEST(ExecHandler, WhatASuccessSaidOnStandardErrorIsKept) {
  const Outcome plain = run(script("echo 1; echo careful >&2"));
  EXPECT_EQ(plain.output, "1");
  EXPECT_EQ(plain.stderr_text, "careful");
  EXPECT_EQ(run(script("echo 1")).stderr_text, "");
  const std::string kept = run(script("head -c 100000 /dev/zero | tr '\\0' x >&2; echo end >&2")).stderr_text;
  EXPECT_LE(kept.size(), (16U << 10) + 4);
  EXPECT_GT(kept.size(), 16'000U);
  EXPECT_TRUE(kept.ends_with("xend"));
}

TEST(ExecHandler, AConfigurationThatCannotWorkIsRefused) {
  const auto refused = [](const std::function<void(ExecConfig&)>& change) {
    ExecConfig config = script("true");
    change(config);
    const Error error = error_of(make_exec_handler(config));
    EXPECT_EQ(error.code, ErrorCode::invalid_configuration);
    expect_one_line(error);
  };
  refused([](ExecConfig& c) { c.argv = {}; });
  refused([](ExecConfig& c) { c.argv = {"report"}; });
  refused([](ExecConfig& c) { c.argv = {"./report"}; });
  refused([](ExecConfig& c) { c.argv = {"/nowhere/report"}; });
  refused([](ExecConfig& c) { c.argv = {"/etc/passwd"}; });
  refused([](ExecConfig& c) { c.argv = {"/usr/bin"}; });
  refused([](ExecConfig& c) { c.argv.push_back(std::string("a\0b", 3)); });
  refused([](ExecConfig& c) { c.cwd = "tmp"; });
  refused([](ExecConfig& c) { c.environment = {{"A=B", "x"}}; });
  refused([](ExecConfig& c) { c.environment = {{"", "x"}}; });
  refused([](ExecConfig& c) { c.environment = {{"CARILLON_TENANT", "x"}}; });
  refused([](ExecConfig& c) { c.timeout = 0s; });
  refused([](ExecConfig& c) { c.grace = 1h; });
}

}  // namespace
}  // namespace carillon::server
