#include "daemon/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "base/check.h"

namespace carillon::daemon {

namespace {

std::atomic<int> end_fd = -1;
std::atomic<int> hangup_fd = -1;

void note(int signal) {
  const int saved = errno;
  eventfd_write(signal == SIGHUP ? hangup_fd : end_fd, 1);
  errno = saved;
}

void on_signal(int signal, int flags) {
  struct sigaction action{};
  action.sa_handler = note;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

int new_event() {
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CHECK(fd >= 0);
  return fd;
}

// One of the three that is the terminal of our own session.
int own_terminal() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (isatty(fd) == 1 && tcgetpgrp(fd) >= 0) return fd;
  }
  return -1;
}

}  // namespace

Signals::Signals() : end_(new_event()), hangup_(new_event()), terminal_(own_terminal()) {
  end_fd = end_;
  hangup_fd = hangup_;
  on_signal(SIGTERM, static_cast<int>(SA_RESTART | SA_RESETHAND));
  on_signal(SIGINT, static_cast<int>(SA_RESTART | SA_RESETHAND));
  on_signal(SIGHUP, SA_RESTART);
  struct sigaction ignored{};
  ignored.sa_handler = SIG_IGN;  // NOLINT(*-cstyle-cast): the system's own constant
  sigaction(SIGPIPE, &ignored, nullptr);
}

Signals::~Signals() {
  // From here on they do what they do by themselves.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction standard{};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
  }
  end_fd = -1;
  hangup_fd = -1;
  close(end_);
  close(hangup_);
}

bool Signals::has_lost_its_terminal() const {
  if (terminal_ < 0) return false;
  pollfd state{.fd = terminal_, .events = 0, .revents = 0};
  const bool is_closed = poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  return is_closed || tcgetpgrp(terminal_) < 0;
}

Signals::Asked Signals::wait() const {
  for (;;) {
    std::array<pollfd, 2> readable{
        {{.fd = end_, .events = POLLIN, .revents = 0}, {.fd = hangup_, .events = POLLIN, .revents = 0}}};
    if (poll(readable.data(), readable.size(), -1) < 1) continue;
    if (readable[0].revents != 0) return Asked::end;
    eventfd_t count = 0;
    if (eventfd_read(hangup_, &count) != 0) continue;
    return has_lost_its_terminal() ? Asked::end : Asked::reload;
  }
}

}  // namespace carillon::daemon
