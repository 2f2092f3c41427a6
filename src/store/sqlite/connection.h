// One connection to a SQLite file, and the prepared statements on it.
//
// The first failure stays: from then on statements do nothing and find nothing, until `clear_failure`. So code that
// uses them reads as if nothing could fail, and asks once at the end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "core/time/instant.h"

struct sqlite3;
struct sqlite3_stmt;

namespace carillon {

// How long a connection waits for a lock. Nobody keeps one but for a moment.
inline constexpr int kLockedMillisecondsMax = 1000;

class Connection {
 public:
  struct Options {
    std::string path;
    std::string vfs;         // "": the system's
    bool read_only = false;  // reads, never checkpoints
  };
  static Result<std::unique_ptr<Connection>> open(const Options& options);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  bool failed() const { return failure_.has_value(); }
  const std::optional<Error>& failure() const { return failure_; }
  void fail(Error error);
  void clear_failure() { failure_.reset(); }
  // Takes the error of the last call that SQLite refused.
  void fail_with(int code, std::string_view attempted);

  // One or more statements without parameters.
  void execute(const char* sql);
  // One statement without parameters or rows that is kept, as every transaction says it again.
  void execute_kept(std::string_view sql);
  // The first column of the first row; nothing if there is none.
  std::optional<std::int64_t> number(const char* sql);
  std::optional<std::string> text(const char* sql);

  bool in_transaction() const;
  std::int64_t last_insert_id() const;
  std::int64_t changes() const;
  sqlite3* handle() const { return handle_; }

 private:
  Connection(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  sqlite3* handle_;
  std::map<std::string_view, sqlite3_stmt*> kept_;  // by their text
  std::string path_;
  std::optional<Error> failure_;
};

// What an error code of SQLite means to a caller.
ErrorCode error_code_of(int sqlite_code);

// A prepared statement. Bind, then step:
//
//   for (query.with(id); query.next();) use(query.text(0));
//   query.run(id, name);
class Query {
 public:
  // `name` is that of a query in the embedded .sql files. Prepared when it is first used.
  Query(Connection& connection, std::string_view name) : connection_(connection), name_(name) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  template <typename... Values>
  void with(const Values&... values) {
    if (!ready()) return;
    int index = 0;
    (bind(++index, values), ...);
  }
  // False at the end, and on failure.
  bool next();
  // Steps to the end.
  template <typename... Values>
  void run(const Values&... values) {
    with(values...);
    while (next()) {
    }
  }
  // Ends the reading early.
  void reset();

  std::int64_t integer(int column) const;
  // One that the schema bounds. Outside of the bounds the file is damaged: that fails, and gives `lowest`.
  std::int64_t integer_within(int column, std::int64_t lowest, std::int64_t highest) const;
  bool is_null(int column) const;
  std::string_view text(int column) const;  // valid until the next step; "" for NULL
  std::string string(int column) const { return std::string(text(column)); }
  Instant instant(int column) const {
    return Instant(Duration(
        integer_within(column, kInstantMin.time_since_epoch().count(), kInstantMax.time_since_epoch().count())));
  }
  std::optional<Instant> optional_instant(int column) const {
    return is_null(column) ? std::nullopt : std::optional(instant(column));
  }

 private:
  bool ready();
  void bind_integer(int index, std::int64_t value);
  void bind_text(int index, std::string_view text);
  void bind_null(int index);

  template <typename Value>
  void bind(int index, const Value& value) {
    if constexpr (std::is_same_v<Value, std::nullptr_t>) {
      bind_null(index);
    } else if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
      bind_text(index, value);
    } else if constexpr (std::is_integral_v<Value> || std::is_enum_v<Value>) {
      bind_integer(index, static_cast<std::int64_t>(value));
    } else if constexpr (requires { value.time_since_epoch(); }) {
      bind_integer(index, value.time_since_epoch().count());
    } else if constexpr (requires { value.count(); }) {
      bind_integer(index, value.count());
    } else if constexpr (requires { value.has_value(); }) {
      if (value) {
        bind(index, *value);
      } else {
        bind_null(index);
      }
    } else if constexpr (requires { value.or_null; }) {
      if (value.is_null()) {
        bind_null(index);
      } else {
        bind(index, value.or_null);
      }
    } else {
      bind_integer(index, value.value);  // an id
    }
  }

  // What is bound stays so over a reset: most columns of most rows are those of the row before. The last at each index;
  // a text is bound anew each time.
  struct Bound {
    enum class What : std::uint8_t { null, integer, text };
    What what = What::null;
    std::int64_t integer = 0;
    bool operator==(const Bound&) const = default;
  };

  Connection& connection_;
  std::string_view name_;
  sqlite3_stmt* statement_ = nullptr;
  std::vector<Bound> bound_;
};

// Bound as NULL if it is empty, or the id of nothing.
template <typename Value>
struct OrNull {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-const-or-ref-data-members): lives as long as one call
  const Value& or_null;
  bool is_null() const {
    if constexpr (requires { or_null.empty(); }) {
      return or_null.empty();
    } else {
      return !or_null;
    }
  }
};
template <typename Value>
OrNull(const Value&) -> OrNull<Value>;

// The text of a query in the embedded .sql files.
std::string_view query_text(std::string_view name);

}  // namespace carillon
