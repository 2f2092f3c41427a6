#include "daemon/data_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "base/safe_file.h"
#include "daemon/key_file.h"

namespace carillon::daemon {

namespace {

namespace fs = std::filesystem;

// Nothing for a store that is no file.
std::optional<fs::path> database_path(std::string_view db) {
  constexpr std::string_view kScheme = "sqlite:";
  if (!db.starts_with(kScheme)) return std::nullopt;
  return fs::path(db.substr(kScheme.size()));
}

// A log or journal that somebody else has put beside a database is played into it when it is opened.
Result<void> check_with_siblings(const fs::path& database) {
  TRY(check_folder_of(database));
  for (const char* const end : {"", "-wal", "-shm", "-journal", ".lock"}) {
    TRY(check_owner_of(fs::path(database) += end));
  }
  return {};
}

}  // namespace

Result<void> check_database_files(std::string_view db) {
  const std::optional<fs::path> path = database_path(db);
  if (!path) return {};
  auto checked = check_with_siblings(*path);
  // SQLite follows a link, which is ours by now, and keeps its files beside what it points to.
  std::error_code error;
  if (checked && fs::is_symlink(*path, error)) checked = check_with_siblings(fs::weakly_canonical(*path, error));
  if (!checked) return std::unexpected(with_context("the database", std::move(checked).error()));
  return {};
}

Result<void> check_data_files(const ServerConfig& config) {
  TRY(check_database_files(config.db));
  // Beside a database that is a file, its folder has been looked at.
  if (!config.admin_key && !database_path(config.db)) TRY(check_folder_of(key_path(config.db)));
  if (config.event_log) {
    auto checked = check_folder_of(*config.event_log);
    if (checked) checked = check_owner_of(*config.event_log);
    if (!checked) return std::unexpected(with_context("the event log", std::move(checked).error()));
  }
  return {};
}

void make_database_private(std::string_view db) {
  constexpr int kOwnerOnly = 0600;
  const std::optional<fs::path> path = database_path(db);
  if (!path) return;
  // NOLINTNEXTLINE(*-vararg): open is what it is
  const int fd = open(path->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly);
  if (fd >= 0) close(fd);
}

}  // namespace carillon::daemon
