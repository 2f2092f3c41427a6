// A small table, and what the tests of FaultVfs do to it.
#pragma once

#include <sqlite3.h>

#include <string>

#include "faults/fault_vfs.h"

namespace carillon::test {

inline constexpr const char* kPath = "/data/jobs.db";
inline constexpr int kRows = 25;

// A connection; every error is a code.
class Database {
 public:
  Database(const FaultVfs& vfs, const std::string& path) {
    code_ = sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs.name().c_str());
    sqlite3_extended_result_codes(handle_, 1);
    sqlite3_busy_timeout(handle_, 5000);
  }
  ~Database() { sqlite3_close_v2(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  int open_code() const { return code_; }
  sqlite3* handle() const { return handle_; }

  int run(const std::string& sql) {
    if (code_ != SQLITE_OK) return code_;
    return sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  }

  // The first column of the first row, or the error in words.
  std::string answer(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    std::string text;
    if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
      const unsigned char* const column = sqlite3_column_text(statement, 0);
      text = column == nullptr ? "null" : reinterpret_cast<const char*>(column);
    } else {
      text = sqlite3_errmsg(handle_);
    }
    sqlite3_finalize(statement);
    return text;
  }

 private:
  sqlite3* handle_ = nullptr;
  int code_ = SQLITE_OK;
};

struct Modes {
  std::string journal = "WAL";
  std::string synchronous = "FULL";
};

// A few pages a commit, and a checkpoint every few commits.
inline int prepare(Database& database, const Modes& modes) {
  if (const int code = database.run("PRAGMA journal_mode=" + modes.journal); code != SQLITE_OK) return code;
  return database.run("PRAGMA synchronous=" + modes.synchronous +
                      "; PRAGMA wal_autocheckpoint=12; PRAGMA cache_size=5;"
                      "CREATE TABLE IF NOT EXISTS job(id INTEGER PRIMARY KEY, name TEXT UNIQUE, body BLOB)");
}

inline int insert(Database& database, int id) {
  const std::string number = std::to_string(id);
  return database.run("BEGIN IMMEDIATE; INSERT INTO job VALUES(" + number + ", 'job " + number +
                      "', randomblob(2000)); UPDATE job SET body = randomblob(1500) WHERE id = " + number +
                      " / 2; COMMIT");
}

// Inserts rows 1, 2, … until an error. The last one that was acknowledged.
inline int insert_rows(const FaultVfs& vfs, const Modes& modes) {
  Database database(vfs, kPath);
  if (prepare(database, modes) != SQLITE_OK) return 0;
  int acknowledged = 0;
  while (acknowledged < kRows && insert(database, acknowledged + 1) == SQLITE_OK) ++acknowledged;
  return acknowledged;
}

}  // namespace carillon::test
