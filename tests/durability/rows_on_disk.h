// What a file of the store holds, read by nobody's code but SQLite's and this: no statement of the store is used.
#pragma once

#include <sqlite3.h>

#include <string>
#include <vector>

#include "durability/ledger.h"

namespace carillon::test {

// A plain connection, as any program could make one.
class PlainConnection {
 public:
  explicit PlainConnection(const std::string& path, const std::string& vfs = "");
  ~PlainConnection() { sqlite3_close_v2(handle_); }
  PlainConnection(const PlainConnection&) = delete;
  PlainConnection& operator=(const PlainConnection&) = delete;

  // Each throws what SQLite says if it fails.
  void run(const std::string& sql);
  std::vector<std::vector<std::string>> rows(const std::string& sql);  // NULL reads as ""
  std::string answer(const std::string& sql);
  sqlite3* handle() { return handle_; }

 private:
  [[noreturn]] void fail(const std::string& attempted);
  sqlite3* handle_ = nullptr;
};

// All jobs, and every rule between tables that is broken: counts that differ from a recount, a lease without its job, a
// job that is both live and archived, …; and what PRAGMA integrity_check complains of. A file that cannot be read is a
// fault too.
Snapshot rows_on_disk(const std::string& path, const std::string& vfs = "");

}  // namespace carillon::test
