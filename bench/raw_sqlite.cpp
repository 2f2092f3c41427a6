#include "bench/raw_sqlite.h"

#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr const char* kSchema = R"sql(
PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4096;
PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;
CREATE TABLE jobs (id INTEGER PRIMARY KEY, state INTEGER NOT NULL, lane INTEGER NOT NULL, type INTEGER NOT NULL,
  priority INTEGER NOT NULL, run_at INTEGER NOT NULL, attempts INTEGER NOT NULL, token INTEGER NOT NULL,
  deadline INTEGER, later INTEGER NOT NULL, schedule INTEGER, subject TEXT, slot INTEGER, options TEXT, detail TEXT,
  payload TEXT) STRICT;
CREATE TABLE archive (id INTEGER PRIMARY KEY, state INTEGER NOT NULL, lane INTEGER NOT NULL, type INTEGER NOT NULL,
  priority INTEGER NOT NULL, run_at INTEGER NOT NULL, attempts INTEGER NOT NULL, token INTEGER NOT NULL,
  finished_at INTEGER NOT NULL, started_at INTEGER, result INTEGER, deadline INTEGER, schedule INTEGER, subject TEXT,
  slot INTEGER, worker TEXT, options TEXT, detail TEXT, payload TEXT) STRICT;
CREATE TABLE leases (job INTEGER PRIMARY KEY, token INTEGER NOT NULL, attempt INTEGER NOT NULL, worker TEXT NOT NULL,
  in_process INTEGER NOT NULL, claimed_at INTEGER NOT NULL, length INTEGER NOT NULL, until INTEGER NOT NULL,
  timeout_at INTEGER NOT NULL) STRICT;
CREATE TABLE counts (lane INTEGER NOT NULL, state INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (lane, state))
  STRICT, WITHOUT ROWID;
INSERT INTO counts VALUES (1, 1, 0), (1, 2, 0), (1, 4, 0);
)sql";

constexpr const char* kInsert =
    "INSERT INTO jobs (id, state, lane, type, priority, run_at, attempts, token, later, payload) "
    "VALUES (?1, 1, 1, 1, 3, ?2, 0, 0, 0, ?3)";
constexpr const char* kArchive =
    "INSERT INTO archive (id, state, lane, type, priority, run_at, attempts, token, finished_at, started_at, result, "
    "worker, payload) SELECT id, 4, lane, type, priority, run_at, 1, 1, ?2, ?2, 0, 'bench', payload FROM jobs "
    "WHERE id = ?1";
void must(bool held, sqlite3* db) {
  if (held) return;
  std::fprintf(stderr, "raw loop: %s\n", sqlite3_errmsg(db));
  std::abort();
}

std::int64_t now() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

struct RawSqlite::Statements {
  explicit Statements(const std::string& path) : db(open(path)) {}
  Statements(const Statements&) = delete;
  Statements& operator=(const Statements&) = delete;
  ~Statements() {
    for (sqlite3_stmt* s : {begin, commit, insert, select, lease, archive, remove, unlease, count}) sqlite3_finalize(s);
    sqlite3_close(db);
  }

  sqlite3* db;
  sqlite3_stmt* begin = prepare("BEGIN IMMEDIATE");
  sqlite3_stmt* commit = prepare("COMMIT");
  sqlite3_stmt* insert = prepare(kInsert);
  sqlite3_stmt* select = prepare("SELECT state, run_at, payload FROM jobs WHERE id = ?1");
  sqlite3_stmt* lease =
      prepare("INSERT INTO leases VALUES (?1, 1, 1, 'bench', 0, ?2, 60000000, ?2 + 60000000, ?2 + 300000000)");
  sqlite3_stmt* archive = prepare(kArchive);
  sqlite3_stmt* remove = prepare("DELETE FROM jobs WHERE id = ?1");
  sqlite3_stmt* unlease = prepare("DELETE FROM leases WHERE job = ?1");
  sqlite3_stmt* count = prepare("UPDATE counts SET count = count + ?2 WHERE lane = 1 AND state = ?1");

  static sqlite3* open(const std::string& path) {
    sqlite3* opened = nullptr;
    must(sqlite3_open(path.c_str(), &opened) == SQLITE_OK, opened);
    must(sqlite3_exec(opened, kSchema, nullptr, nullptr, nullptr) == SQLITE_OK, opened);
    return opened;
  }
  sqlite3_stmt* prepare(const char* sql) const {
    sqlite3_stmt* statement = nullptr;
    must(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) == SQLITE_OK, db);
    return statement;
  }
  void run(sqlite3_stmt* statement) const {
    must(sqlite3_step(statement) == SQLITE_DONE, db);
    sqlite3_reset(statement);
  }
  void run(sqlite3_stmt* statement, std::int64_t first, std::int64_t second = 0,
           const std::string* third = nullptr) const {
    sqlite3_bind_int64(statement, 1, first);
    if (sqlite3_bind_parameter_count(statement) > 1) sqlite3_bind_int64(statement, 2, second);
    if (third != nullptr) {
      sqlite3_bind_text(statement, 3, third->data(), static_cast<int>(third->size()), SQLITE_STATIC);
    }
    run(statement);
  }
};

// Ids as long as those of the store, which carry the time: they are a good part of a small row.
RawSqlite::RawSqlite(const std::string& path)
    : statements_(std::make_unique<Statements>(path)),
      next_id_(now() / 1000 << 20),
      oldest_(next_id_),
      settled_(next_id_) {}
RawSqlite::~RawSqlite() = default;

void RawSqlite::enqueue(int count, const std::string& payload) {
  const Statements& s = *statements_;
  s.run(s.begin);
  for (int i = 0; i < count; ++i) s.run(s.insert, ++next_id_, now(), &payload);
  s.run(s.count, 1, count);
  s.run(s.commit);
}

void RawSqlite::claim(int count) {
  const Statements& s = *statements_;
  s.run(s.begin);
  for (int i = 0; i < count; ++i) {
    sqlite3_bind_int64(s.select, 1, ++oldest_);
    must(sqlite3_step(s.select) == SQLITE_ROW, s.db);
    bytes_read_ +=
        static_cast<std::int64_t>(std::string(reinterpret_cast<const char*>(sqlite3_column_text(s.select, 2))).size());
    sqlite3_reset(s.select);
    s.run(s.lease, oldest_, now());
  }
  s.run(s.count, 1, -count);
  s.run(s.count, 2, count);
  s.run(s.commit);
}

void RawSqlite::settle() {
  const Statements& s = *statements_;
  const std::int64_t count = oldest_ - settled_;
  s.run(s.begin);
  while (settled_ < oldest_) {
    s.run(s.archive, ++settled_, now());
    s.run(s.remove, settled_);
    s.run(s.unlease, settled_);
  }
  s.run(s.count, 2, -count);
  s.run(s.count, 4, count);
  s.run(s.commit);
}
