#include "observe/crash_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "base/check.h"
#include "base/clock.h"

namespace carillon {

namespace {

struct Crash {
  int signal = 0;
  std::string_view json;
  std::string_view text;
};

// Written out beforehand: a signal handler can put nothing together. They carry no time for the same reason.
constexpr std::array kCrashes{Crash{SIGSEGV, "{\"level\":\"error\",\"msg\":\"crash\",\"err_code\":\"SIGSEGV\"}\n",
                                    "ERROR crash  err_code=SIGSEGV\n"},
                              Crash{SIGBUS, "{\"level\":\"error\",\"msg\":\"crash\",\"err_code\":\"SIGBUS\"}\n",
                                    "ERROR crash  err_code=SIGBUS\n"},
                              Crash{SIGFPE, "{\"level\":\"error\",\"msg\":\"crash\",\"err_code\":\"SIGFPE\"}\n",
                                    "ERROR crash  err_code=SIGFPE\n"},
                              Crash{SIGILL, "{\"level\":\"error\",\"msg\":\"crash\",\"err_code\":\"SIGILL\"}\n",
                                    "ERROR crash  err_code=SIGILL\n"},
                              Crash{SIGABRT, "{\"level\":\"error\",\"msg\":\"crash\",\"err_code\":\"SIGABRT\"}\n",
                                    "ERROR crash  err_code=SIGABRT\n"}};

// Set once, before the handlers are.
struct Where {
  int fd = -1;
  bool json = false;
  std::array<struct sigaction, kCrashes.size()> before{};
};
Where where;  // NOLINT(*-avoid-non-const-global-variables): a signal handler has nothing else

void put(std::string_view line) {
  while (write(where.fd, line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

void on_crash(int signal, siginfo_t* info, void* /*context*/) {
  const int saved = errno;
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    if (kCrashes[i].signal != signal) continue;
    put(where.json ? kCrashes[i].json : kCrashes[i].text);
    sigaction(signal, &where.before[i], nullptr);
    // A fault happens again as soon as this returns, and takes the course that it had before us; a signal that somebody
    // sent does not.
    if (info->si_code <= 0) raise(signal);
  }
  errno = saved;
}

void on_failed_check(const char* condition, const char* file, int line) {
  const LogLine told(LogLevel::error, fmt::format("internal error: CHECK({}) failed at {}:{}", condition, file, line));
  put(where.json ? told.json(system_now()) : told.plain(system_now()));
}

}  // namespace

void tell_of_crashes(int fd, bool json) {
  CHECK(where.fd < 0);
  where.fd = fd;
  where.json = json;
  report_failed_checks_by(on_failed_check);
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    struct sigaction action{};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(kCrashes[i].signal, &action, &where.before[i]);
  }
}

}  // namespace carillon
