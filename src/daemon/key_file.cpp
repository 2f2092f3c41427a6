#include "daemon/key_file.h"

#include <fmt/format.h>

#include <system_error>

#include "base/safe_file.h"
#include "config/values.h"

namespace carillon::daemon {

namespace {

constexpr std::string_view kSqliteScheme = "sqlite:";
constexpr std::size_t kKeyBytesMax = 4096;
constexpr const char* kLostPage = "docs/guides/lost-key.md";

}  // namespace

std::filesystem::path key_path(std::string_view db) {
  if (!db.starts_with(kSqliteScheme)) return "carillon.key";
  const std::filesystem::path database(db.substr(kSqliteScheme.size()));
  std::filesystem::path path = database;
  path.replace_extension(".key");
  return path == database ? path += ".key" : path;
}

Result<void> check_key_path(const std::filesystem::path& path, std::string_view db, const KnowsKey& knows_key) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return check_folder_of(path);
  const std::string name = carillon::quoted(path.string());
  const std::string database = carillon::quoted(carillon::config::without_password(std::string(db)));
  const auto text = read_plain_file(path, kKeyBytesMax);
  const std::string id = text ? text->substr(0, text->find('.')) : std::string();
  if (text && knows_key(id)) {
    return failed(ErrorCode::conflict, fmt::format("{} has no valid admin key, and {} holds an old one of it: see {}",
                                                   database, name, kLostPage));
  }
  if (!text && text.error().code == ErrorCode::invalid_configuration) {
    return std::unexpected(with_context("the admin key", text.error()));
  }
  // Only a database that is a file gives its key file its name.
  const std::string_view other =
      db.starts_with(kSqliteScheme) ? "give the database another name" : "start the server in another folder";
  return failed(
      ErrorCode::conflict,
      fmt::format("cannot write the admin key of {} to {}: that file is there and holds no key of this database; "
                  "move it away, or {}",
                  database, name, other));
}

Result<void> write_key_file(const std::filesystem::path& path, std::string_view key) {
  TRY(check_folder_of(path));
  auto written = write_new_file(path, fmt::format("{}\n", key));
  if (!written) return std::unexpected(with_context("the admin key", std::move(written).error()));
  return {};
}

}  // namespace carillon::daemon
