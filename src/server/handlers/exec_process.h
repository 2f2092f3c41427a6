// One run of a program: no shell, its input from memory, its output kept up to a cap, and an end for all that it
// started.
//
// The program runs below a watch (exec_watch.h), in a session that is not ours. When it has ended, was stopped or ran
// out of time, or when our own process has died, whatever it started is killed, in whatever group, session or depth.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/time/duration.h"

namespace carillon::server {

inline constexpr std::size_t kOutputBytesMax = 64 << 10;  // of each, output and errors

struct ProcessUser {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::vector<std::uint32_t> groups;
};

struct ProcessLimit {
  int resource = 0;         // RLIMIT_…
  std::uint64_t value = 0;  // at most; a lower one that holds already stays
};

struct ProcessRequest {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=value
  std::string cwd;
  std::string_view input;
  std::optional<ProcessUser> user;
  std::vector<ProcessLimit> limits;
  std::optional<Duration> timeout;
  Duration grace{};
  std::function<bool()> stop;  // asked several times a second
};

// The last bytes of what was written, and how many there were.
struct Tail {
  std::string text;
  std::uint64_t bytes = 0;
  bool is_whole() const { return bytes == text.size(); }
};

struct ProcessEnd {
  enum class Kind : std::uint8_t { exited, signalled, timed_out, stopped };
  Kind kind = Kind::exited;
  int code = 0;  // of exited; of signalled: the signal
  Tail output;
  Tail errors;
};

// Waits for its end. Errors: it could not be started, and why.
Result<ProcessEnd> run_process(const ProcessRequest& request);

// By its name. Errors: invalid_configuration.
Result<ProcessUser> find_user(const std::string& name);

}  // namespace carillon::server
