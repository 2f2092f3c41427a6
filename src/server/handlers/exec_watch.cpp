#include "server/handlers/exec_watch.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string_view>

namespace carillon::server {

namespace {

constexpr int kFirstOtherFd = 3;
constexpr unsigned kLastFd = ~0U;
constexpr int kExitUnstarted = 127;
constexpr std::size_t kListBytes = 4096;
constexpr int kPauseMs = 1;
constexpr int kPauseMsMax = 50;
constexpr std::uintptr_t kSmallMapping = 1 << 20;

[[noreturn]] void give_up(const WatchStart& start, WatchStep step) {
  const WatchFailure failure{.step = step, .error = errno};
  [[maybe_unused]] const ssize_t written = write(start.failure, &failure, sizeof failure);
  _exit(kExitUnstarted);
}

// ---- The program ----------------------------------------------------------------------------------------------------

// A cap, so that a lower one that holds already does as well.
bool set_limit(const ProcessLimit& limit) {
  const auto resource = static_cast<__rlimit_resource>(limit.resource);
  const rlimit both{.rlim_cur = limit.value, .rlim_max = limit.value};
  if (setrlimit(resource, &both) == 0) return true;
  rlimit present{};
  if (getrlimit(resource, &present) != 0 || present.rlim_max > limit.value) return false;
  const rlimit lower{.rlim_cur = present.rlim_max, .rlim_max = present.rlim_max};
  return setrlimit(resource, &lower) == 0;
}

[[noreturn]] void become(const WatchStart& start, pid_t watch_pid) {
  const ProcessRequest& request = *start.request;
  if (setpgid(0, 0) != 0) give_up(start, WatchStep::prepare);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);  // some cannot be set, and need not be
  }
  if (dup2(start.input, STDIN_FILENO) < 0 || dup2(start.output, STDOUT_FILENO) < 0 ||
      dup2(start.errors, STDERR_FILENO) < 0) {
    give_up(start, WatchStep::prepare);
  }
  // Also those that a library has opened without care.
  if (syscall(SYS_close_range, kFirstOtherFd, kLastFd, CLOSE_RANGE_CLOEXEC) != 0) give_up(start, WatchStep::prepare);
  for (const ProcessLimit& limit : request.limits) {
    if (!set_limit(limit)) give_up(start, WatchStep::limit);
  }
  if (request.user) {
    if (setgroups(start.groups.size(), start.groups.data()) != 0 ||
        setresgid(request.user->group, request.user->group, request.user->group) != 0 ||
        setresuid(request.user->user, request.user->user, request.user->user) != 0) {
      give_up(start, WatchStep::user);
    }
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up(start, WatchStep::prepare);
  if (chdir(request.cwd.c_str()) != 0) give_up(start, WatchStep::cwd);
  // After the change of user, which clears it; and not if the watch has died meanwhile.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(start, WatchStep::prepare);
  if (getppid() != watch_pid) _exit(kExitUnstarted);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  execve(start.argv.front(), start.argv.data(), start.environment.data());
  give_up(start, WatchStep::exec);
}

// ---- The watch ------------------------------------------------------------------------------------------------------

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// A line of /proc/self/maps, if it is memory that only the server's own work needs: large, private, of no file.
struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool is_spare = false;
};

Mapping read_mapping(std::string_view line) {
  Mapping mapping;
  const char* const last = line.data() + line.size();
  const auto first = std::from_chars(line.data(), last, mapping.begin, 16);
  if (first.ec != std::errc() || first.ptr == last || *first.ptr != '-') return {};
  const auto second = std::from_chars(first.ptr + 1, last, mapping.end, 16);
  if (second.ec != std::errc()) return {};
  const std::string_view rest(second.ptr, static_cast<std::size_t>(last - second.ptr));
  const bool has_file = rest.find('/') != std::string_view::npos;
  const std::size_t name = rest.find('[');
  const bool is_heap = name != std::string_view::npos && rest.substr(name) == "[heap]";
  const bool is_large = name == std::string_view::npos && mapping.end - mapping.begin >= kSmallMapping;
  mapping.is_spare = rest.starts_with(" rw-p") && !has_file && (is_heap || is_large);
  return mapping;
}

// The watch is a copy of the whole server. What it does not need is let go, else each page that the server changes from
// now on would be kept twice for as long as the program runs.
void let_go_of_memory(const void* kept) {
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);  // NOLINT(*-vararg)
  if (fd < 0) return;
  const std::array<std::uintptr_t, 3> own{reinterpret_cast<std::uintptr_t>(&fd),
                                          reinterpret_cast<std::uintptr_t>(&errno),
                                          reinterpret_cast<std::uintptr_t>(kept)};
  std::array<char, kListBytes> buffer{};
  std::size_t filled = 0;
  for (;;) {
    const ssize_t got = read(fd, buffer.data() + filled, buffer.size() - filled);
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
    std::string_view text(buffer.data(), filled);
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      const Mapping mapping = read_mapping(text.substr(0, end));
      const bool is_own = std::ranges::any_of(
          own, [&](std::uintptr_t address) { return address >= mapping.begin && address < mapping.end; });
      if (mapping.is_spare && !is_own) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): that is how the system writes it
        madvise(reinterpret_cast<void*>(mapping.begin), mapping.end - mapping.begin, MADV_DONTNEED);
      }
      text.remove_prefix(end + 1);
    }
    if (text.size() == buffer.size()) break;  // no line is so long
    std::memmove(buffer.data(), text.data(), text.size());
    filled = text.size();
  }
  close(fd);
}

#else

void let_go_of_memory(const void* /*kept*/) {}  // the sanitizer's own memory looks just the same

#endif

struct Program {
  pid_t pid = -1;
  int status = 0;
  bool ended = false;
};

// Everything that has ended: false if nothing had.
bool reap(Program& program, bool& has_children) {
  bool reaped = false;
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    has_children = pid >= 0;
    if (pid <= 0) return reaped;
    reaped = true;
    if (pid == program.pid) {
      program.status = status;
      program.ended = true;
    }
  }
}

// Until nothing is left, however long that takes: a process that cannot be killed yet is still at work.
void end_all(Program& program) {
  int pause = kPauseMs;
  for (;;) {
    kill_children(kChildrenFile, nullptr, nullptr);
    bool has_children = true;
    const bool reaped = reap(program, has_children);
    if (!has_children) return;
    if (reaped) {
      pause = kPauseMs;
      continue;
    }
    poll(nullptr, 0, pause);
    pause = std::min(pause * 2, kPauseMsMax);
  }
}

// False: all of it is to end now.
bool obey(int control, const Program& program) {
  WatchWord word{};
  const ssize_t got = read(control, &word, sizeof word);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got != sizeof word || word != WatchWord::terminate) return false;
  kill(-program.pid, SIGTERM);
  return true;
}

}  // namespace

int kill_children(const char* file, SparePid spare, const void* context) {
  const int fd = open(file, O_RDONLY | O_CLOEXEC);  // NOLINT(*-vararg)
  if (fd < 0) return 0;
  std::array<char, kListBytes> buffer{};
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  close(fd);
  int killed = 0;
  // What did not fit is seen the next time. A number counts only with the blank behind it: it may be cut.
  const char* at = buffer.data();
  const char* const end = at + std::max<ssize_t>(got, 0);
  while (at < end) {
    pid_t pid = 0;
    const auto read = std::from_chars(at, end, pid);
    if (read.ec != std::errc() || read.ptr == end) break;
    at = read.ptr + 1;
    if (spare != nullptr && spare(pid, context)) continue;
    kill(pid, SIGKILL);
    ++killed;
  }
  return killed;
}

void watch(const WatchStart& start) {
  // No terminal of the operator's is within its reach, and no signal of a keyboard reaches it.
  setsid();
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, nullptr);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) give_up(start, WatchStep::prepare);
  const pid_t own = getpid();
  Program program{.pid = _Fork()};
  if (program.pid < 0) give_up(start, WatchStep::prepare);
  if (program.pid == 0) become(start, own);
  setpgid(program.pid, program.pid);  // both sides do it, so that the group exists whoever runs first
  prctl(PR_SET_NAME, "exec-watch", 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // the program, of the same user perhaps, has no business in it

  // The server's files are not the watch's: sockets, locks, the ends of other programs' pipes.
  const int control = start.control;
  if (control > 0) syscall(SYS_close_range, 0U, static_cast<unsigned>(control) - 1, 0U);
  syscall(SYS_close_range, static_cast<unsigned>(control) + 1, kLastFd, 0U);
  let_go_of_memory(&program);

  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  const int changed = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  std::array<pollfd, 2> fds{
      {{.fd = control, .events = POLLIN, .revents = 0}, {.fd = changed, .events = POLLIN, .revents = 0}}};
  bool go_on = true;
  while (go_on && !program.ended) {
    // Should there be no signalfd, it looks now and then.
    if (poll(fds.data(), fds.size(), changed < 0 ? kPauseMsMax : -1) < 0 && errno != EINTR) break;
    signalfd_siginfo info{};
    while (changed >= 0 && read(changed, &info, sizeof info) > 0) {
    }
    bool has_children = true;
    reap(program, has_children);
    if (!program.ended && fds[0].revents != 0) go_on = obey(control, program);
  }
  end_all(program);
  [[maybe_unused]] const ssize_t written = write(control, &program.status, sizeof program.status);
  _exit(0);
}

}  // namespace carillon::server
