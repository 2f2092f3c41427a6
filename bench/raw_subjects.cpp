#include "bench/raw_subjects.h"

#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr const char* kSchema = R"sql(
PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4096;
PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;
CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY, state INTEGER NOT NULL, lane INTEGER NOT NULL,
  type INTEGER NOT NULL, priority INTEGER NOT NULL, run_at INTEGER NOT NULL, attempts INTEGER NOT NULL,
  token INTEGER NOT NULL, deadline INTEGER, later INTEGER NOT NULL, schedule INTEGER, subject TEXT, slot INTEGER,
  options TEXT, detail TEXT, payload TEXT) STRICT;
CREATE TABLE IF NOT EXISTS deadlines (deadline INTEGER NOT NULL, job INTEGER NOT NULL, PRIMARY KEY (deadline, job))
  STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counts (lane INTEGER NOT NULL, state INTEGER NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (lane, state)) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO counts VALUES (1, 1, 0);
CREATE TABLE IF NOT EXISTS schedules (id INTEGER PRIMARY KEY, subjects INTEGER NOT NULL) STRICT;
INSERT OR IGNORE INTO schedules VALUES (1, 0);
CREATE TABLE IF NOT EXISTS subjects (id INTEGER PRIMARY KEY, schedule INTEGER NOT NULL, subject TEXT NOT NULL,
  generation INTEGER NOT NULL, version INTEGER NOT NULL, next_at INTEGER, position INTEGER, open_job INTEGER,
  cursor INTEGER, overrides TEXT, state TEXT, deleted_at INTEGER, enabled INTEGER NOT NULL, status INTEGER,
  last_slot INTEGER, last_run_at INTEGER) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS subjects_by_name ON subjects (schedule, subject);
CREATE INDEX IF NOT EXISTS subjects_due ON subjects (schedule, next_at, subject) WHERE next_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS outcomes (schedule INTEGER NOT NULL, subject INTEGER NOT NULL, slot INTEGER NOT NULL,
  until INTEGER, job INTEGER, outcome INTEGER, parked INTEGER NOT NULL, reason TEXT, at INTEGER,
  count INTEGER NOT NULL, local_minute INTEGER, PRIMARY KEY (schedule, subject, slot)) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outcome_counts (schedule INTEGER NOT NULL, day INTEGER NOT NULL, minute INTEGER NOT NULL,
  outcome INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (schedule, day, minute, outcome))
  STRICT, WITHOUT ROWID;
)sql";

constexpr std::int64_t kMinute = 60'000'000;
constexpr std::int64_t kDay = 1440 * kMinute;
constexpr std::int64_t kWindow = 60 * kMinute;

constexpr const char* kInsertUser =
    "INSERT INTO subjects (id, schedule, subject, generation, version, position, overrides, enabled, next_at) "
    "VALUES (?5, 1, ?1, 1, 1, ?2, ?3, 1, ?4)";
constexpr const char* kDue =
    "SELECT subject, version, next_at, position, overrides, id FROM subjects INDEXED BY subjects_due "
    "WHERE schedule = 1 AND next_at IS NOT NULL AND next_at <= ?1 ORDER BY next_at, subject LIMIT ?2";
constexpr const char* kInsertOutcome =
    "INSERT INTO outcomes (schedule, subject, slot, count, job, parked, local_minute) VALUES (1, ?1, ?2, 1, ?3, 0, ?4)";
// Options and payload as long as those of the store.
constexpr const char* kInsertJob =
    "INSERT INTO jobs (id, state, lane, type, priority, run_at, attempts, token, deadline, later, schedule, subject, "
    "slot, options, payload) VALUES (?1, 1, 1, 1, 3, ?2, 0, 0, ?3, 0, 1, ?4, ?5, "
    R"('{"retry":{"kind":"fixed","delay":"10m"},"max_attempts":null,"origin":"scheduled"}', )"
    R"('{"template":"digest","top":10}'))";
constexpr const char* kMove =
    "UPDATE subjects SET version = ?2, position = ?3, open_job = ?4, next_at = ?5 WHERE id = ?1";
constexpr const char* kCountOutcomes =
    "INSERT INTO outcome_counts VALUES (1, ?1, ?2, 1, ?3) ON CONFLICT DO UPDATE SET count = count + excluded.count";

void must(bool held, sqlite3* db) {
  if (held) return;
  std::fprintf(stderr, "raw loop: %s\n", sqlite3_errmsg(db));
  std::abort();
}

std::int64_t midnight_before(std::int64_t at) { return at / kDay * kDay; }

std::string text_of(sqlite3_stmt* statement, int column) {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return text == nullptr ? std::string() : std::string(text);
}

}  // namespace

struct RawSubjects::Statements {
  explicit Statements(const std::string& path) : db(open(path)) {}
  Statements(const Statements&) = delete;
  Statements& operator=(const Statements&) = delete;
  ~Statements() {
    for (sqlite3_stmt* s : {begin, commit, insert_user, due, insert_outcome, insert_job, insert_deadline, move,
                            count_jobs, count_outcomes, count_users}) {
      sqlite3_finalize(s);
    }
    sqlite3_close(db);
  }

  sqlite3* db;
  sqlite3_stmt* begin = prepare("BEGIN IMMEDIATE");
  sqlite3_stmt* commit = prepare("COMMIT");
  sqlite3_stmt* insert_user = prepare(kInsertUser);
  sqlite3_stmt* due = prepare(kDue);
  sqlite3_stmt* insert_outcome = prepare(kInsertOutcome);
  sqlite3_stmt* insert_job = prepare(kInsertJob);
  sqlite3_stmt* insert_deadline = prepare("INSERT INTO deadlines VALUES (?1, ?2)");
  sqlite3_stmt* move = prepare(kMove);
  sqlite3_stmt* count_jobs = prepare("UPDATE counts SET count = count + ?1 WHERE lane = 1 AND state = 1");
  sqlite3_stmt* count_outcomes = prepare(kCountOutcomes);
  sqlite3_stmt* count_users = prepare("UPDATE schedules SET subjects = subjects + ?1 WHERE id = 1");

  static sqlite3* open(const std::string& path) {
    sqlite3* opened = nullptr;
    must(sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                         nullptr) == SQLITE_OK,
         opened);
    must(sqlite3_exec(opened, kSchema, nullptr, nullptr, nullptr) == SQLITE_OK, opened);
    return opened;
  }
  sqlite3_stmt* prepare(const char* sql) const {
    sqlite3_stmt* statement = nullptr;
    must(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) == SQLITE_OK, db);
    return statement;
  }

  static void bind(sqlite3_stmt* statement, int index, std::int64_t value) {
    sqlite3_bind_int64(statement, index, value);
  }
  static void bind(sqlite3_stmt* statement, int index, const std::string& value) {
    if (value.empty()) {
      sqlite3_bind_null(statement, index);
    } else {
      sqlite3_bind_text(statement, index, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
    }
  }
  template <typename... Values>
  void run(sqlite3_stmt* statement, const Values&... values) const {
    int index = 0;
    (bind(statement, ++index, values), ...);
    must(sqlite3_step(statement) == SQLITE_DONE, db);
    sqlite3_reset(statement);
  }
};

RawSubjects::RawSubjects(const std::string& path)
    : statements_(std::make_unique<Statements>(path)),
      // Ids as long as those of the store, which carry the time.
      next_id_(
          std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
              .count()
          << 20) {}
RawSubjects::~RawSubjects() = default;

void RawSubjects::insert(std::span<const User> users) {
  const Statements& s = *statements_;
  s.run(s.begin);
  for (const User& user : users) {
    const std::int64_t minute = user.next_at % kDay / kMinute;
    const std::int64_t id = (minute << 36) + ++count_of_minute_.at(static_cast<std::size_t>(minute));
    s.run(s.insert_user, user.name, midnight_before(user.next_at) - kDay, user.overrides, user.next_at, id);
  }
  s.run(s.count_users, static_cast<std::int64_t>(users.size()));
  s.run(s.commit);
}

int RawSubjects::plan(std::int64_t now, int most) {
  struct Due {
    std::string name;
    std::int64_t version = 0;
    std::int64_t next_at = 0;
    std::int64_t position = 0;
    std::string overrides;
    std::int64_t id = 0;
  };
  const Statements& s = *statements_;
  s.run(s.begin);
  std::vector<Due> due;
  Statements::bind(s.due, 1, now);
  Statements::bind(s.due, 2, static_cast<std::int64_t>(most));
  while (sqlite3_step(s.due) == SQLITE_ROW) {
    due.push_back({.name = text_of(s.due, 0),
                   .version = sqlite3_column_int64(s.due, 1),
                   .next_at = sqlite3_column_int64(s.due, 2),
                   .position = sqlite3_column_int64(s.due, 3),
                   .overrides = text_of(s.due, 4),
                   .id = sqlite3_column_int64(s.due, 5)});
  }
  sqlite3_reset(s.due);
  for (const Due& user : due) {
    const std::int64_t cutoff = user.next_at + kWindow;
    const std::int64_t slot = user.position + kDay;
    s.run(s.insert_outcome, user.id, slot, ++next_id_, cutoff / kMinute);
    s.run(s.insert_job, next_id_, user.next_at, cutoff, user.name, slot);
    s.run(s.insert_deadline, cutoff, next_id_);
    s.run(s.move, user.id, user.version + 1, slot, next_id_, user.next_at + kDay);
  }
  const auto count = static_cast<std::int64_t>(due.size());
  if (count > 0) {
    const std::int64_t cutoff = due.front().next_at + kWindow;
    s.run(s.count_jobs, count);
    s.run(s.count_outcomes, cutoff / kDay, cutoff % kDay / kMinute, count);
  }
  s.run(s.commit);
  return static_cast<int>(count);
}

std::int64_t number_in(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  must(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK, db);
  sqlite3_busy_timeout(db, 10'000);
  sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_stmt* statement = nullptr;
  must(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK, db);
  must(sqlite3_step(statement) == SQLITE_ROW, db);
  const std::int64_t number = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return number;
}
