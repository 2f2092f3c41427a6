#include "store/sqlite/connection.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <map>

#include "base/check.h"
#include "embedded/sqlite_queries.h"

namespace carillon {

namespace {

// "-- name: job" begins a query; other lines that begin with "--" are comments.
std::map<std::string_view, std::string_view> read_queries() {
  constexpr std::string_view kMark = "-- name: ";
  std::map<std::string_view, std::string_view> queries;
  for (const auto& file : kSqliteQueries) {
    std::size_t mark = file.text.find(kMark);
    while (mark != std::string_view::npos) {
      const std::size_t name_begin = mark + kMark.size();
      const std::size_t name_end = file.text.find('\n', name_begin);
      const std::size_t next = file.text.find(kMark, name_end);
      const bool added =
          queries
              .emplace(file.text.substr(name_begin, name_end - name_begin),
                       file.text.substr(name_end, next == std::string_view::npos ? next : next - name_end))
              .second;
      CHECK(added);
      mark = next;
    }
  }
  return queries;
}

}  // namespace

std::string_view query_text(std::string_view name) {
  static const std::map<std::string_view, std::string_view> queries = read_queries();
  const auto found = queries.find(name);
  CHECK(found != queries.end());
  return found->second;
}

ErrorCode error_code_of(int sqlite_code) {
  switch (sqlite_code & 0xFF) {
    case SQLITE_FULL: return ErrorCode::store_full;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CONSTRAINT:
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
    case SQLITE_ERROR: return ErrorCode::database_error;
    default: return ErrorCode::unavailable;
  }
}

namespace {

// SQLite says "full" only of a write; growing the index of the log, or a quota, can lack space too.
bool for_want_of_space(sqlite3* handle, int code) {
  if ((code & 0xFF) != SQLITE_IOERR) return false;
  const int reason = sqlite3_system_errno(handle);
  return reason == ENOSPC || reason == EDQUOT;
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const Options& options) {
  const int flags = (options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(options.path.c_str(), &handle, flags, options.vfs.empty() ? nullptr : options.vfs.c_str());
  if (code != SQLITE_OK) {
    const std::string reason = handle == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle);
    sqlite3_close(handle);
    return carillon::failed(error_code_of(code), fmt::format("cannot open {}: {}", quoted(options.path), reason));
  }
  std::unique_ptr<Connection> connection(new Connection(handle, options.path));
  // A reader that finds the index of the log half written takes the writer's lock for a moment, to read it again.
  sqlite3_busy_timeout(handle, kLockedMillisecondsMax);
  // The writer alone checkpoints: two that do can damage the file (SQLite before 3.41).
  if (options.read_only) sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return connection;
}

Connection::~Connection() {
  for (const auto& [sql, statement] : kept_) sqlite3_finalize(statement);
  // Fails only if a statement is left: each Query ends its own.
  CHECK(sqlite3_close(handle_) == SQLITE_OK);
}

void Connection::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
}

void Connection::fail_with(int code, std::string_view attempted) {
  const int extended = sqlite3_extended_errcode(handle_);
  const bool same = (extended & 0xFF) == (code & 0xFF);
  fail({.code = for_want_of_space(handle_, code) ? ErrorCode::store_full : error_code_of(code),
        .message = fmt::format("store {}: {}: {} ({})", quoted(path_), attempted,
                               same ? sqlite3_errmsg(handle_) : sqlite3_errstr(code), same ? extended : code)});
}

void Connection::execute(const char* sql) {
  if (failed()) return;
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail_with(code, sql);
}

void Connection::execute_kept(std::string_view sql) {
  if (failed()) return;
  sqlite3_stmt*& statement = kept_[sql];
  int code = SQLITE_OK;
  if (statement == nullptr) {
    code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement,
                              nullptr);
  }
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  if (code != SQLITE_DONE) fail_with(code, sql);
  sqlite3_reset(statement);
}

std::optional<std::string> Connection::text(const char* sql) {
  if (failed()) return std::nullopt;
  std::optional<std::string> found;
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr);
  if (code == SQLITE_OK) {
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
      const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      if (text != nullptr) found = text;
    }
  }
  if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) fail_with(code, sql);
  sqlite3_finalize(statement);
  return found;
}

std::optional<std::int64_t> Connection::number(const char* sql) {
  const auto found = text(sql);
  return found ? std::optional(std::strtoll(found->c_str(), nullptr, 10)) : std::nullopt;
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

std::int64_t Connection::last_insert_id() const { return sqlite3_last_insert_rowid(handle_); }

std::int64_t Connection::changes() const { return sqlite3_changes64(handle_); }

Query::~Query() { sqlite3_finalize(statement_); }

bool Query::ready() {
  if (connection_.failed()) return false;
  if (statement_ != nullptr) {
    sqlite3_reset(statement_);
    return true;
  }
  const std::string_view sql = query_text(name_);
  const int code = sqlite3_prepare_v3(connection_.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  if (code == SQLITE_OK) {
    bound_.resize(static_cast<std::size_t>(sqlite3_bind_parameter_count(statement_)) + 1);  // counted from 1
    return true;
  }
  connection_.fail_with(code, name_);
  return false;
}

bool Query::next() {
  if (connection_.failed() || statement_ == nullptr) return false;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) connection_.fail_with(code, name_);
  sqlite3_reset(statement_);
  return false;
}

void Query::reset() {
  if (statement_ != nullptr) sqlite3_reset(statement_);
}

std::int64_t Query::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::int64_t Query::integer_within(int column, std::int64_t lowest, std::int64_t highest) const {
  const std::int64_t found = integer(column);
  if (found >= lowest && found <= highest) return found;
  connection_.fail({.code = ErrorCode::database_error,
                    .message = fmt::format("the file is damaged: {}: {} is {}", name_,
                                           sqlite3_column_name(statement_, column), found)});
  return lowest;
}

bool Query::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

std::string_view Query::text(int column) const {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

void Query::bind_integer(int index, std::int64_t value) {
  const Bound wanted{.what = Bound::What::integer, .integer = value};
  Bound& bound = bound_[static_cast<std::size_t>(index)];
  if (bound == wanted) return;
  CHECK(sqlite3_bind_int64(statement_, index, value) == SQLITE_OK);
  bound = wanted;
}

void Query::bind_text(int index, std::string_view text) {
  // Not copied: whoever binds keeps it until the last step. An empty view may point nowhere, which would be NULL.
  const char* const data = text.empty() ? "" : text.data();
  CHECK(sqlite3_bind_text(statement_, index, data, static_cast<int>(text.size()), SQLITE_STATIC) == SQLITE_OK);
  bound_[static_cast<std::size_t>(index)].what = Bound::What::text;
}

void Query::bind_null(int index) {
  Bound& bound = bound_[static_cast<std::size_t>(index)];
  if (bound == Bound{}) return;
  CHECK(sqlite3_bind_null(statement_, index) == SQLITE_OK);
  bound = Bound{};
}

}  // namespace carillon
