#include "server/handlers/exec_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "server/handlers/exec_watch.h"

namespace carillon::server {

namespace {

constexpr int kLookMs = 50;
constexpr int kSweepsMax = 2000;
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

Result<Pipe> make_control() {
  std::array<int, 2> fds{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) return refused("cannot make a socket");
  return Pipe{.read = Fd(fds[0]), .write = Fd(fds[1])};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  // execve takes what is not const, and leaves it alone.
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));  // NOLINT(*-const-cast)
  out.push_back(nullptr);
  return out;
}

std::string describe(const WatchFailure& failure, const ProcessRequest& request) {
  const std::string why = reason(failure.error);
  const std::string program = carillon::quoted(request.argv.front());
  switch (failure.step) {
    case WatchStep::prepare: return fmt::format("cannot start {}: {}", program, why);
    case WatchStep::limit: return fmt::format("cannot start {}: a limit cannot be set: {}", program, why);
    case WatchStep::user: return fmt::format("cannot start {} as another user: {}", program, why);
    case WatchStep::cwd: return fmt::format("cannot start {} in {}: {}", program, carillon::quoted(request.cwd), why);
    case WatchStep::exec: return fmt::format("cannot start {}: {}", program, why);
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

// The watches under way, so that what a killed one left can be told from them.
class Watches {
 public:
  // The fork of a watch; all signals are blocked in it.
  pid_t start(const WatchStart& start) {
    const std::scoped_lock lock(mutex_);
    // What loses its watch comes to us.
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t pid = fork();
    if (pid == 0) watch(start);
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid > 0) pids_.insert(pid);
    errno = error;
    return pid;
  }

  void ended(pid_t pid) {
    const std::scoped_lock lock(mutex_);
    pids_.erase(pid);
  }

  // After a watch was killed: ends what it watched. Of our children those that are no watch and of another session, as
  // every watch began one.
  void sweep() {
    for (int i = 0; i < kSweepsMax; ++i) {
      if (!sweep_once()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  bool sweep_once() {
    const std::scoped_lock lock(mutex_);
    int found = 0;
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
      found += kill_children((task.path() / "children").c_str(), &Watches::is_spared, this);
    }
    return found > 0;
  }
  static bool is_spared(pid_t pid, const void* context) {
    if (static_cast<const Watches*>(context)->pids_.contains(pid) || getsid(pid) == getsid(0)) return true;
    return waitpid(pid, nullptr, WNOHANG) == pid;  // it has ended
  }

  std::mutex mutex_;
  std::set<pid_t> pids_;
};

Watches& watches() {
  static Watches all;
  return all;
}

// A program that was started, and its watch. However this ends, nothing of it is left.
class Child {
 public:
  Child(pid_t watch, Fd control, Fd output, Fd errors)
      : watch_(watch), control_(std::move(control)), output_(std::move(output)), errors_(std::move(errors)) {
    for (const Fd* fd : {&output_, &errors_}) fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { reap(); }

  ProcessEnd wait(const ProcessRequest& request) {
    ProcessEnd end;
    const Duration begun = boot_now();
    std::optional<ProcessEnd::Kind> cut;
    Duration kill_at = Duration::max();
    while (control_.is_open()) {
      const Duration now = boot_now();
      if (!cut) {
        if (request.timeout && now - begun >= *request.timeout) cut = ProcessEnd::Kind::timed_out;
        if (request.stop && request.stop()) cut = ProcessEnd::Kind::stopped;
        if (cut) {
          tell(WatchWord::terminate);
          kill_at = now + request.grace;
        }
      } else if (now >= kill_at) {
        tell(WatchWord::kill);
        kill_at = Duration::max();
      }
      poll_once(end);
    }
    // Nobody is left who could write.
    reap();
    drain(output_, end.output);
    drain(errors_, end.errors);
    close_tail(end.output);
    close_tail(end.errors);
    if (cut) {
      end.kind = *cut;
    } else if (status_ && WIFEXITED(*status_)) {
      end.code = WEXITSTATUS(*status_);
    } else {
      end.kind = ProcessEnd::Kind::signalled;
      end.code = status_ ? WTERMSIG(*status_) : SIGKILL;
    }
    return end;
  }

 private:
  void tell(WatchWord word) const {
    [[maybe_unused]] const ssize_t sent = send(control_.get(), &word, sizeof word, MSG_NOSIGNAL);
  }

  void poll_once(ProcessEnd& end) {
    std::array<pollfd, 3> fds{{{.fd = control_.get(), .events = POLLIN, .revents = 0},
                               {.fd = output_.get(), .events = POLLIN, .revents = 0},
                               {.fd = errors_.get(), .events = POLLIN, .revents = 0}}};
    if (poll(fds.data(), fds.size(), kLookMs) <= 0) return;
    if (fds[1].revents != 0) read_into(output_, end.output);
    if (fds[2].revents != 0) read_into(errors_, end.errors);
    if (fds[0].revents != 0) hear();
  }

  // The watch's only word, or that there will be none.
  void hear() {
    int status = 0;
    const ssize_t got = read(control_.get(), &status, sizeof status);
    if (got < 0 && errno == EINTR) return;
    if (got == sizeof status) status_ = status;
    control_.reset();
  }

  // What is in the pipe already.
  static void drain(Fd& fd, Tail& tail) {
    for (std::size_t i = 0; i < kOutputBytesMax / kReadBytes + 1 && fd.is_open(); ++i) {
      const std::uint64_t before = tail.bytes;
      read_into(fd, tail);
      if (tail.bytes == before) return;
    }
  }

  // Without its control the watch ends everything, and itself.
  void reap() {
    if (watch_ <= 0) return;
    control_.reset();
    int status = 0;
    while (waitpid(watch_, &status, 0) < 0 && errno == EINTR) {
    }
    watches().ended(watch_);
    watch_ = -1;
    if (!WIFEXITED(status)) watches().sweep();
  }

  pid_t watch_;
  Fd control_;
  Fd output_;
  Fd errors_;
  std::optional<int> status_;  // of the program
};

}  // namespace

Result<ProcessUser> find_user(const std::string& name) {
  std::vector<char> buffer(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return invalid_configuration(fmt::format("there is no user {} on this machine", carillon::quoted(name)));
  }
  ProcessUser user{.user = entry.pw_uid, .group = entry.pw_gid, .groups = {}};
  std::vector<gid_t> groups(kGroupsMax);
  int count = kGroupsMax;
  if (getgrouplist(name.c_str(), entry.pw_gid, groups.data(), &count) < 0) {
    return invalid_configuration(fmt::format("user {} has more than {} groups", carillon::quoted(name), kGroupsMax));
  }
  user.groups.assign(groups.begin(), groups.begin() + count);
  return user;
}

Result<ProcessEnd> run_process(const ProcessRequest& request) {
  TRY_ASSIGN(Fd input, make_input(request.input));
  TRY_ASSIGN(Pipe output, make_pipe());
  TRY_ASSIGN(Pipe errors, make_pipe());
  TRY_ASSIGN(Pipe failure, make_pipe());
  TRY_ASSIGN(Pipe control, make_control());
  WatchStart start{.argv = pointers(request.argv),
                   .environment = pointers(request.environment),
                   .groups = {},
                   .request = &request,
                   .input = input.get(),
                   .output = output.write.get(),
                   .errors = errors.write.get(),
                   .failure = failure.write.get(),
                   .control = control.write.get()};
  if (request.user) start.groups.assign(request.user->groups.begin(), request.user->groups.end());

  const pid_t pid = watches().start(start);
  if (pid < 0) return refused(fmt::format("cannot start {}", carillon::quoted(request.argv.front())));
  output.write.reset();
  errors.write.reset();
  failure.write.reset();
  control.write.reset();
  Child child(pid, std::move(control.read), std::move(output.read), std::move(errors.read));

  WatchFailure failed_at;
  ssize_t got = 0;
  do {
    got = read(failure.read.get(), &failed_at, sizeof failed_at);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof failed_at) return failed(ErrorCode::unavailable, describe(failed_at, request));
  return child.wait(request);
}

}  // namespace carillon::server
