#include "bench/server_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/check.h"
#include "bench/measuring.h"

namespace carillon {

namespace {

constexpr std::string_view kAddress = "http://127.0.0.1:";
constexpr int kCannotStart = 127;

// The port in what the server greets with, once it is there.
std::optional<std::uint16_t> port_in(std::string_view greeting) {
  const std::size_t at = greeting.find(kAddress);
  const std::size_t end = at == std::string_view::npos ? at : greeting.find('/', at + kAddress.size());
  if (end == std::string_view::npos) return std::nullopt;
  std::uint16_t port = 0;
  std::from_chars(greeting.data() + at + kAddress.size(), greeting.data() + end, port);
  return port;
}

}  // namespace

ServerProcess::ServerProcess(const std::string& folder) {
  start(folder);
  std::string greeting;
  std::optional<std::uint16_t> port;
  while (!(port = port_in(greeting))) {
    std::array<char, 4096> buffer{};
    const ssize_t got = read(output_.number(), buffer.data(), buffer.size());
    if (got <= 0) {
      give_up({.code = ErrorCode::unavailable,
               .message = fmt::format("the server has not started; its log is in {}/server.log", folder)});
    }
    greeting.append(buffer.data(), static_cast<std::size_t>(got));
  }
  target_.port = *port;
  std::ifstream(folder + "/carillon.key") >> target_.key;
  CHECK(!target_.key.empty());
}

void ServerProcess::start(const std::string& folder) {
  std::array<int, 2> pipe_ends{};
  CHECK(pipe2(pipe_ends.data(), O_CLOEXEC) == 0);
  output_ = Descriptor(pipe_ends[0]);
  const Descriptor written(pipe_ends[1]);
  // NOLINTNEXTLINE(*-vararg): open is what it is
  const Descriptor log(open((folder + "/server.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  CHECK(log.number() >= 0);
  const std::string program = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "carillon").string();
  // Nothing of ours is inherited: no settings from the environment, no configuration of the folder that we are in.
  const std::array<const char*, 5> argv = {"carillon", "serve", "--listen", "127.0.0.1:0", nullptr};
  const std::array<const char*, 1> environment = {nullptr};
  const pid_t parent = getpid();
  pid_ = fork();
  CHECK(pid_ >= 0);
  if (pid_ > 0) return;
  // Only what is safe between fork and exec. It must not outlive a benchmark that was ended.
  const bool ready = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
                     dup2(written.number(), STDOUT_FILENO) >= 0 && dup2(log.number(), STDERR_FILENO) >= 0 &&
                     chdir(folder.c_str()) == 0;
  // NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast): what exec wants, and does not change
  if (ready) {
    execve(program.c_str(), const_cast<char* const*>(argv.data()), const_cast<char* const*>(environment.data()));
  }
  // NOLINTEND(cppcoreguidelines-pro-type-const-cast)
  _exit(kCannotStart);
}

ServerProcess::~ServerProcess() {
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

std::int64_t ServerProcess::resident_bytes() const { return resident_bytes_of(pid_); }

}  // namespace carillon
