#include "store/sqlite/migrations.h"

#include <fmt/format.h>

#include <string>

#include "base/hash.h"
#include "embedded/sqlite_migrations.h"

namespace carillon {

namespace {

// "Caril" in the header of the file, so that `file` and we can tell whose it is.
constexpr std::int64_t kApplicationId = 0x4361726C;

constexpr const char* kMigrationsTable = R"sql(
CREATE TABLE IF NOT EXISTS migrations (
  number     INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  checksum   TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT)sql";

std::string checksum(std::string_view text) { return fmt::format("{:016x}", stable_hash({"migration", text})); }

// `text` as a literal of SQL.
std::string literal(std::string_view text) {
  std::string quoted_text = "'";
  for (const char c : text) {
    if (c == '\'') quoted_text += '\'';
    quoted_text += c;
  }
  return quoted_text + "'";
}

}  // namespace

Result<void> check_owner(Connection& connection) {
  const std::int64_t owner = connection.number("PRAGMA application_id").value_or(0);
  const std::int64_t tables = connection.number("SELECT count(*) FROM sqlite_schema").value_or(0);
  if (connection.failed()) return std::unexpected(*connection.failure());
  if (owner == kApplicationId || (owner == 0 && tables == 0)) return {};
  return failed(ErrorCode::conflict, "the file holds the tables of another program; name a new file");
}

int latest_migration() { return static_cast<int>(kSqliteMigrations.size()); }

Result<void> migrate(Connection& connection, Instant now) {
  connection.execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
  connection.execute(kMigrationsTable);
  const std::int64_t applied = connection.number("SELECT coalesce(max(number), 0) FROM migrations").value_or(0);
  if (connection.failed()) return std::unexpected(*connection.failure());
  if (applied > latest_migration()) {
    return failed(ErrorCode::conflict,
                  fmt::format("the file has schema {}, and this program knows {}: it was written by a newer Carillon; "
                              "run that one",
                              applied, latest_migration()));
  }
  int number = 0;
  for (const auto& [name, text] : kSqliteMigrations) {
    ++number;
    if (number <= applied) {
      const auto known =
          connection.text(fmt::format("SELECT checksum FROM migrations WHERE number = {}", number).c_str());
      if (connection.failed()) return std::unexpected(*connection.failure());
      if (known == checksum(text)) continue;
      return failed(ErrorCode::conflict,
                    fmt::format("step {} of the file's schema is not the one of this program: it was written by "
                                "another build of Carillon",
                                number));
    }
    connection.execute("BEGIN IMMEDIATE");
    connection.execute(std::string(text).c_str());
    connection.execute(
        fmt::format("INSERT INTO migrations (number, name, checksum, applied_at) VALUES ({}, {}, {}, {})", number,
                    literal(name), literal(checksum(text)), now.time_since_epoch().count())
            .c_str());
    connection.execute("COMMIT");
    if (connection.failed()) {
      Error error = *connection.failure();
      connection.clear_failure();
      if (connection.in_transaction()) connection.execute("ROLLBACK");
      return std::unexpected(with_context(fmt::format("schema step {}", number), std::move(error)));
    }
  }
  return {};
}

}  // namespace carillon
