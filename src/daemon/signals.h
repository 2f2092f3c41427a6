// What the world asks of the process: SIGTERM and SIGINT to end, SIGHUP to read its configuration again. A terminal
// that is closed sends SIGHUP as well, and means the end.
#pragma once

#include <cstdint>

namespace carillon::daemon {

class Signals {
 public:
  // From now on. A second SIGTERM or SIGINT ends the process at once.
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  enum class Asked : std::uint8_t { reload, end };
  // Until something is asked.
  Asked wait() const;

 private:
  bool has_lost_its_terminal() const;

  const int end_;
  const int hangup_;
  const int terminal_;  // that it was started from; -1: from none
};

}  // namespace carillon::daemon
