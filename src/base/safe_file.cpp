#include "base/safe_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <random>
#include <system_error>

namespace carillon {

namespace {

constexpr int kOwnerOnly = 0600;

std::string why(int error) { return std::generic_category().message(error); }

std::unexpected<Error> no_write(const std::filesystem::path& path, int error) {
  return failed(ErrorCode::unavailable,
                fmt::format("cannot write {}: {}", carillon::quoted(path.string()), why(error)));
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// A new name of a file has to reach the disk as well.
void sync_folder(const std::filesystem::path& path) {
  const int fd = open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // NOLINT(*-vararg)
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

Result<void> check_owner(const std::filesystem::path& path, const struct stat& found) {
  const std::string name = carillon::quoted(path.string());
  if (found.st_uid != geteuid() && found.st_uid != 0) {
    return invalid_configuration(fmt::format(
        "cannot use {}: it belongs to another user of this machine ({}), and this process runs as {}; if it "
        "is yours, chown {} it, else move it away",
        name, found.st_uid, geteuid(), geteuid()));
  }
  // A link's own mode says nothing, and a device such as /dev/null keeps nothing.
  const bool keeps = !S_ISLNK(found.st_mode) && !S_ISCHR(found.st_mode);
  if (keeps && (found.st_mode & S_IWOTH) != 0) {
    return invalid_configuration(fmt::format(
        "cannot use {}: every user of this machine may write to it; if what stands in it is yours, chmod o-w it",
        name));
  }
  return {};
}

// As rename, but never over what is there.
int rename_to_new(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // A file system that cannot: a second name is refused in the same way.
  if (link(from.c_str(), to.c_str()) != 0) return errno;
  unlink(from.c_str());
  return 0;
}

}  // namespace

Result<void> check_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = folder_of(path);
  struct stat found{};
  if (stat(folder.c_str(), &found) != 0) {
    return invalid_configuration(
        fmt::format("cannot use the folder {}: {}", carillon::quoted(folder.string()), why(errno)));
  }
  if ((found.st_mode & S_IWOTH) == 0 || (found.st_mode & S_ISVTX) != 0) return {};
  return invalid_configuration(
      fmt::format("cannot keep {} in the folder {}: every user of this machine may write to it and put another file in "
                  "its place (chmod o-w, or +t)",
                  carillon::quoted(path.filename().string()), carillon::quoted(folder.string())));
}

Result<void> check_owner_of(const std::filesystem::path& path) {
  struct stat found{};
  if (lstat(path.c_str(), &found) == 0) return check_owner(path, found);
  if (errno == ENOENT) return {};
  return invalid_configuration(fmt::format("cannot use {}: {}", carillon::quoted(path.string()), why(errno)));
}

Result<void> write_new_file(const std::filesystem::path& path, std::string_view text) {
  const std::string next = fmt::format("{}.{:08x}.new", path.string(), std::random_device()());
  // NOLINTNEXTLINE(*-vararg): open is what it is
  const int fd = open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly);
  if (fd < 0) return no_write(path, errno);
  const bool written = fchmod(fd, kOwnerOnly) == 0 && write_all(fd, text) && fsync(fd) == 0;
  int error = errno;
  close(fd);
  if (written) error = rename_to_new(next, path.string());
  if (written && error == 0) {
    sync_folder(path);
    return {};
  }
  unlink(next.c_str());
  if (error == EEXIST) {
    return failed(ErrorCode::conflict,
                  fmt::format("cannot write {}: it is there already", carillon::quoted(path.string())));
  }
  return no_write(path, error);
}

Result<std::string> read_plain_file(const std::filesystem::path& path, std::size_t bytes_max) {
  const auto refuse = [&](ErrorCode code, std::string_view reason) {
    return failed(code, fmt::format("cannot read {}: {}", carillon::quoted(path.string()), reason));
  };
  // Without waiting for one who writes, if it is a pipe.
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);  // NOLINT(*-vararg)
  if (fd < 0 && errno == ENOENT) return refuse(ErrorCode::not_found, why(errno));
  if (fd < 0) return refuse(ErrorCode::unavailable, errno == ELOOP ? "it is a link" : why(errno));
  struct stat found{};
  const bool is_plain = fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
  const Result<void> owned = is_plain ? check_owner(path, found) : Result<void>();
  std::string text(bytes_max + 1, '\0');
  const ssize_t got = is_plain && owned ? read(fd, text.data(), text.size()) : 0;
  const int error = errno;
  close(fd);
  if (!is_plain) return refuse(ErrorCode::unavailable, "it is not a plain file");
  if (!owned) return std::unexpected(owned.error());
  if (got < 0) return refuse(ErrorCode::unavailable, why(error));
  text.resize(static_cast<std::size_t>(got));
  if (text.size() > bytes_max) return refuse(ErrorCode::unavailable, fmt::format("it is over {} bytes", bytes_max));
  return text;
}

Result<int> open_to_append(const std::filesystem::path& path, unsigned mode) {
  TRY(check_folder_of(path));
  // Before it is opened, as another's pipe would make us wait; and what was opened, as it may be another by then.
  TRY(check_owner_of(path));
  constexpr int kFlags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  // NOLINTBEGIN(*-vararg)
  int fd = open(path.c_str(), kFlags | O_CREAT | O_EXCL, mode);
  if (fd < 0 && errno == EEXIST) fd = open(path.c_str(), kFlags);
  // NOLINTEND(*-vararg)
  if (fd >= 0) {
    struct stat found{};
    const Result<void> owned = fstat(fd, &found) == 0 ? check_owner(path, found) : no_write(path, errno);
    if (owned) return fd;
    close(fd);
    return std::unexpected(owned.error());
  }
  if (errno == ELOOP) {
    return invalid_configuration(
        fmt::format("cannot write {}: it is a link; name the file itself", carillon::quoted(path.string())));
  }
  return no_write(path, errno);
}

}  // namespace carillon
