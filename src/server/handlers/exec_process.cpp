#include "server/handlers/exec_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "base/check.h"
#include "base/clock.h"

namespace carillon::server {

namespace {

constexpr int kLookMs = 50;
constexpr int kFirstOtherFd = 3;
constexpr std::size_t kReadBytes = 16 << 10;
constexpr int kGroupsMax = 1024;

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    reset();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};

std::string reason(int error) { return std::generic_category().message(error); }

std::unexpected<Error> refused(std::string_view what) {
  return failed(ErrorCode::unavailable, fmt::format("{}: {}", what, reason(errno)));
}

Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (pipe2(fds.data(), O_CLOEXEC) != 0) return refused("cannot make a pipe");
  return Pipe{.read = Fd(fds[0]), .write = Fd(fds[1])};
}

// The input as a file in memory: nobody has to feed it, and a program that does not read it harms nobody.
Result<Fd> make_input(std::string_view input) {
  Fd file(memfd_create("payload", MFD_CLOEXEC));
  if (!file.is_open()) return refused("cannot keep the payload in memory");
  while (!input.empty()) {
    const ssize_t written = write(file.get(), input.data(), input.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return refused("cannot keep the payload in memory");
    input.remove_prefix(static_cast<std::size_t>(written));
  }
  if (lseek(file.get(), 0, SEEK_SET) != 0) return refused("cannot keep the payload in memory");
  return file;
}

// All that the child needs, made before the fork: after it nothing may be allocated.
struct Start {
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::vector<gid_t> groups;
  const ProcessRequest* request = nullptr;
  int input = -1;
  int output = -1;
  int errors = -1;
  int failure = -1;
  pid_t parent = 0;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  // execve takes what is not const, and leaves it alone.
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));  // NOLINT(*-const-cast)
  out.push_back(nullptr);
  return out;
}

// Which step of the child failed, for the message.
enum class Step : std::uint8_t { prepare, limit, user, cwd, exec };

struct Failure {
  Step step = Step::prepare;
  int error = 0;
};

[[noreturn]] void give_up(const Start& start, Step step) {
  const Failure failure{.step = step, .error = errno};
  [[maybe_unused]] const ssize_t written = write(start.failure, &failure, sizeof failure);
  _exit(127);
}

// In the child: only what is safe between fork and exec.
[[noreturn]] void become(const Start& start) {
  const ProcessRequest& request = *start.request;
  if (setpgid(0, 0) != 0) give_up(start, Step::prepare);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);  // some cannot be set, and need not be
  }
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  if (dup2(start.input, STDIN_FILENO) < 0 || dup2(start.output, STDOUT_FILENO) < 0 ||
      dup2(start.errors, STDERR_FILENO) < 0) {
    give_up(start, Step::prepare);
  }
  // Also those that a library has opened without care.
  if (syscall(SYS_close_range, kFirstOtherFd, ~0U, CLOSE_RANGE_CLOEXEC) != 0) give_up(start, Step::prepare);
  for (const ProcessLimit& limit : request.limits) {
    const rlimit both{.rlim_cur = limit.value, .rlim_max = limit.value};
    if (setrlimit(static_cast<__rlimit_resource>(limit.resource), &both) != 0) give_up(start, Step::limit);
  }
  if (request.user) {
    if (setgroups(start.groups.size(), start.groups.data()) != 0 ||
        setresgid(request.user->group, request.user->group, request.user->group) != 0 ||
        setresuid(request.user->user, request.user->user, request.user->user) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
      give_up(start, Step::user);
    }
  }
  if (chdir(request.cwd.c_str()) != 0) give_up(start, Step::cwd);
  // After the change of user, which clears it; and not if the parent has died meanwhile.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(start, Step::prepare);
  if (getppid() != start.parent) _exit(127);
  execve(start.argv.front(), start.argv.data(), start.environment.data());
  give_up(start, Step::exec);
}

std::string describe(const Failure& failure, const ProcessRequest& request) {
  const std::string why = reason(failure.error);
  const std::string program = quoted(request.argv.front());
  switch (failure.step) {
    case Step::prepare: return fmt::format("cannot start {}: {}", program, why);
    case Step::limit: return fmt::format("cannot start {}: a limit cannot be set: {}", program, why);
    case Step::user: return fmt::format("cannot start {} as another user: {}", program, why);
    case Step::cwd: return fmt::format("cannot start {} in {}: {}", program, quoted(request.cwd), why);
    case Step::exec: return fmt::format("cannot start {}: {}", program, why);
  }
  UNREACHABLE();
}

void add(Tail& tail, std::string_view piece) {
  tail.bytes += piece.size();
  tail.text += piece;
  // Now and then, not at every piece.
  if (tail.text.size() > 2 * kOutputBytesMax) tail.text.erase(0, tail.text.size() - kOutputBytesMax);
}

void close_tail(Tail& tail) {
  if (tail.text.size() > kOutputBytesMax) tail.text.erase(0, tail.text.size() - kOutputBytesMax);
}

// Reads once; closes at the end of the file.
void read_into(Fd& fd, Tail& tail) {
  std::array<char, kReadBytes> buffer{};
  const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
  if (got > 0) {
    add(tail, {buffer.data(), static_cast<std::size_t>(got)});
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    fd.reset();
  }
}

// A process that was started. However this ends, nothing of its group is left.
class Child {
 public:
  Child(pid_t pid, Fd output, Fd errors)
      : pid_(pid),
        handle_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
        output_(std::move(output)),
        errors_(std::move(errors)) {
    for (const Fd* fd : {&output_, &errors_}) fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { reap(); }

  ProcessEnd wait(const ProcessRequest& request) {
    ProcessEnd end;
    const Duration begun = boot_now();
    std::optional<ProcessEnd::Kind> cut;
    std::optional<Duration> kill_at;
    while (!has_ended()) {
      const Duration now = boot_now();
      if (!cut) {
        if (request.timeout && now - begun >= *request.timeout) cut = ProcessEnd::Kind::timed_out;
        if (request.stop && request.stop()) cut = ProcessEnd::Kind::stopped;
        if (cut) {
          kill(-pid_, SIGTERM);
          kill_at = now + request.grace;
        }
      } else if (now >= *kill_at) {
        kill(-pid_, SIGKILL);
      }
      poll_once(end);
    }
    // What it left behind goes first: then nobody else writes, and the number of the group is still its own.
    kill(-pid_, SIGKILL);
    drain(output_, end.output);
    drain(errors_, end.errors);
    close_tail(end.output);
    close_tail(end.errors);
    const int status = reap();
    if (cut) {
      end.kind = *cut;
    } else if (WIFEXITED(status)) {
      end.code = WEXITSTATUS(status);
    } else {
      end.kind = ProcessEnd::Kind::signalled;
      end.code = WTERMSIG(status);
    }
    return end;
  }

 private:
  bool has_ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
  }

  void poll_once(ProcessEnd& end) {
    std::array<pollfd, 3> fds{{{.fd = handle_.get(), .events = POLLIN, .revents = 0},
                               {.fd = output_.get(), .events = POLLIN, .revents = 0},
                               {.fd = errors_.get(), .events = POLLIN, .revents = 0}}};
    if (poll(fds.data(), fds.size(), kLookMs) <= 0) return;
    if (fds[1].revents != 0) read_into(output_, end.output);
    if (fds[2].revents != 0) read_into(errors_, end.errors);
  }

  // What is in the pipe already. One who left the group may hold it open, and does not keep us; nor does one who goes
  // on writing.
  static void drain(Fd& fd, Tail& tail) {
    for (std::size_t i = 0; i < kOutputBytesMax / kReadBytes + 1 && fd.is_open(); ++i) {
      const std::uint64_t before = tail.bytes;
      read_into(fd, tail);
      if (tail.bytes == before) return;
    }
  }

  int reap() {
    if (pid_ <= 0) return 0;
    kill(-pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

  pid_t pid_;
  Fd handle_;
  Fd output_;
  Fd errors_;
};

}  // namespace

Result<ProcessUser> find_user(const std::string& name) {
  std::vector<char> buffer(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return invalid_configuration(fmt::format("there is no user {} on this machine", quoted(name)));
  }
  ProcessUser user{.user = entry.pw_uid, .group = entry.pw_gid, .groups = {}};
  std::vector<gid_t> groups(kGroupsMax);
  int count = kGroupsMax;
  if (getgrouplist(name.c_str(), entry.pw_gid, groups.data(), &count) < 0) {
    return invalid_configuration(fmt::format("user {} has more than {} groups", quoted(name), kGroupsMax));
  }
  user.groups.assign(groups.begin(), groups.begin() + count);
  return user;
}

Result<ProcessEnd> run_process(const ProcessRequest& request) {
  TRY_ASSIGN(Fd input, make_input(request.input));
  TRY_ASSIGN(Pipe output, make_pipe());
  TRY_ASSIGN(Pipe errors, make_pipe());
  TRY_ASSIGN(Pipe failure, make_pipe());
  Start start{.argv = pointers(request.argv),
              .environment = pointers(request.environment),
              .groups = {},
              .request = &request,
              .input = input.get(),
              .output = output.write.get(),
              .errors = errors.write.get(),
              .failure = failure.write.get(),
              .parent = getpid()};
  if (request.user) start.groups.assign(request.user->groups.begin(), request.user->groups.end());

  const pid_t pid = fork();
  if (pid < 0) return refused(fmt::format("cannot start {}", quoted(request.argv.front())));
  if (pid == 0) become(start);
  // Both sides do it, so that the group exists whoever runs first.
  setpgid(pid, pid);
  output.write.reset();
  errors.write.reset();
  failure.write.reset();
  Child child(pid, std::move(output.read), std::move(errors.read));

  Failure failed_at;
  ssize_t got = 0;
  do {
    got = read(failure.read.get(), &failed_at, sizeof failed_at);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof failed_at) return failed(ErrorCode::unavailable, describe(failed_at, request));
  return child.wait(request);
}

}  // namespace carillon::server
