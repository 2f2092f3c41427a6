#include "daemon/open_files.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/check.h"

namespace carillon::daemon {

namespace {

constexpr std::uint64_t kOtherFiles = 512;

}  // namespace

std::uint64_t raise_open_files() {
  rlimit limit{};
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  return setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

std::uint32_t connections_within(std::uint64_t files, std::uint32_t wanted) {
  // Who may have very few open files gets half of them: it works, with few connections.
  const std::uint64_t left = files - std::min(kOtherFiles, files / 2);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(left, wanted));
}

}  // namespace carillon::daemon
