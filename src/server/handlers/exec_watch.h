// The process that stands between the server and a program that it runs: the watch.
//
//   server ── watch ── program ── whatever it starts
//
// The watch adopts whatever below it loses its parent (PR_SET_CHILD_SUBREAPER), so that nothing gets away by a second
// fork or a session of its own. When the program has ended, when the server asks, or when the server is gone, it kills
// and reaps all of it, says how the program ended, and ends itself.
//
// It is a fork of the server that never execs, and the server has many threads: in it only what is safe in a signal
// handler may be called, and nothing may be allocated.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "server/handlers/exec_process.h"

namespace carillon::server {

// Lists the children of the thread that reads it.
inline constexpr const char* kChildrenFile = "/proc/thread-self/children";

// All that both processes need, made before the fork.
struct WatchStart {
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::vector<gid_t> groups;
  const ProcessRequest* request = nullptr;
  int input = -1;
  int output = -1;
  int errors = -1;
  int failure = -1;  // takes a WatchFailure; closed by the exec
  int control = -1;  // takes WatchWords, gives the program's status as waitpid does (an int); its end is `kill`
};

enum class WatchWord : char { terminate = 'T', kill = 'K' };

// Which step before the program's own code failed.
enum class WatchStep : std::uint8_t { prepare, limit, user, cwd, exec };

struct WatchFailure {
  WatchStep step = WatchStep::prepare;
  int error = 0;
};

// In the child of a fork that was made with every signal blocked.
[[noreturn]] void watch(const WatchStart& start);

// Kills those that the file lists and `spare` does not: how many there were. Allocates nothing.
using SparePid = bool (*)(pid_t pid, const void* context);
int kill_children(const char* file, SparePid spare, const void* context);

}  // namespace carillon::server
