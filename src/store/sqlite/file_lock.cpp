#include "store/sqlite/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "base/clock.h"
#include "core/time/instant.h"

namespace carillon {

namespace {

std::string reason_of(int error) { return std::generic_category().message(error); }

// What stands in the file: "process 4711 on host, since 2026-…".
std::string read_holder(int descriptor) {
  std::array<char, 256> text{};
  const auto size = pread(descriptor, text.data(), text.size(), 0);
  std::string_view holder(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  holder = holder.substr(0, holder.find('\n'));
  return holder.empty() ? std::string("another process") : std::string(holder);
}

void write_holder(int descriptor) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string text =
      fmt::format("process {} on {}, since {}\n", getpid(), host.data(), format_instant(system_now()));
  // Only for a message: if the disk is full, the lock holds all the same.
  if (ftruncate(descriptor, 0) == 0) {
    [[maybe_unused]] const auto written = pwrite(descriptor, text.data(), text.size(), 0);
  }
}

}  // namespace

Result<std::unique_ptr<FileLock>> FileLock::take(const std::string& path) {
  const std::string name = path + ".lock";
  const int descriptor = open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    return failed(ErrorCode::unavailable, fmt::format("cannot open {}: {}", quoted(name), reason_of(errno)));
  }
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    std::string holder = read_holder(descriptor);
    close(descriptor);
    if (reason != EWOULDBLOCK) {
      return failed(ErrorCode::unavailable, fmt::format("cannot lock {}: {}", quoted(name), reason_of(reason)));
    }
    return failed(ErrorCode::conflict,
                  fmt::format("{} is in use by {}; one process may have it open", quoted(path), holder));
  }
  write_holder(descriptor);
  return std::unique_ptr<FileLock>(new FileLock(descriptor));
}

FileLock::~FileLock() { close(descriptor_); }

}  // namespace carillon
