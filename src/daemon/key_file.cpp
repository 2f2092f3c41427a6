#include "daemon/key_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "base/safe_file.h"
#include "daemon/config_address.h"

namespace carillon::daemon {

namespace {

constexpr std::string_view kSqliteScheme = "sqlite:";
constexpr std::size_t kKeyBytesMax = 4096;
constexpr const char* kLostPage = "docs/guides/lost-key.md";

}  // namespace

std::filesystem::path key_path(std::string_view db) {
  if (!db.starts_with(kSqliteScheme)) return "carillon.key";
  std::filesystem::path path(db.substr(kSqliteScheme.size()));
  return path.replace_extension(".key");
}

Result<void> check_key_path(const std::filesystem::path& path, std::string_view db, const KnowsKey& knows_key) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return check_folder_of(path);
  const std::string name = carillon::quoted(path.string());
  const std::string database = carillon::quoted(without_password(std::string(db)));
  const auto text = read_plain_file(path, kKeyBytesMax);
  const std::string id = text ? text->substr(0, text->find('.')) : std::string();
  if (text && knows_key(id)) {
    return failed(ErrorCode::conflict, fmt::format("{} has no valid admin key, and {} holds an old one of it: see {}",
                                                   database, name, kLostPage));
  }
  return failed(
      ErrorCode::conflict,
      fmt::format("cannot write the admin key of {} to {}: that file is there and holds no key of this database; "
                  "move it away, or give the database another name",
                  database, name));
}

Result<void> write_key_file(const std::filesystem::path& path, std::string_view key) {
  TRY(check_folder_of(path));
  auto written = write_new_file(path, fmt::format("{}\n", key));
  if (!written) return std::unexpected(with_context("the admin key", std::move(written).error()));
  return {};
}

void make_database_private(std::string_view db) {
  constexpr int kOwnerOnly = 0600;
  if (!db.starts_with(kSqliteScheme)) return;
  const std::string path(db.substr(kSqliteScheme.size()));
  // NOLINTNEXTLINE(*-vararg): open is what it is
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly);
  if (fd >= 0) close(fd);
}

}  // namespace carillon::daemon
