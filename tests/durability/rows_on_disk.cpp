#include "durability/rows_on_disk.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

namespace carillon::test {

PlainConnection::PlainConnection(const std::string& path, const std::string& vfs) {
  const int code = sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                                   vfs.empty() ? nullptr : vfs.c_str());
  if (code != SQLITE_OK) fail("open");
  sqlite3_busy_timeout(handle_, 5000);
  // A look must not change what it looks at.
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void PlainConnection::fail(const std::string& attempted) {
  throw std::runtime_error(fmt::format("{}: {} ({})", attempted, sqlite3_errmsg(handle_), sqlite3_errcode(handle_)));
}

void PlainConnection::run(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(sql);
}

std::vector<std::vector<std::string>> PlainConnection::rows(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) fail(sql);
  std::vector<std::vector<std::string>> rows;
  int code = SQLITE_OK;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    auto& row = rows.emplace_back();
    for (int column = 0; column < sqlite3_column_count(statement); ++column) {
      const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      row.emplace_back(text == nullptr ? "" : text);
    }
  }
  sqlite3_finalize(statement);
  if (code != SQLITE_DONE) fail(sql);
  return rows;
}

std::string PlainConnection::answer(const std::string& sql) {
  const auto all = rows(sql);
  return all.empty() ? std::string() : all.front().front();
}

namespace {

struct Rule {
  const char* what;
  const char* broken;  // counts the rows that break it
};

constexpr std::array kRules{
    Rule{"each lease has a queued job",
         "SELECT count(*) FROM leases l LEFT JOIN jobs j ON j.id = l.job "
         "WHERE j.id IS NULL OR j.state <> 1"},
    Rule{"a lease's token is the one after the job's",
         "SELECT count(*) FROM leases l JOIN jobs j ON j.id = l.job WHERE l.token <> j.token + 1"},
    Rule{"no job is both live and archived", "SELECT count(*) FROM jobs JOIN archive USING (id)"},
    Rule{"each long payload has its job",
         "SELECT count(*) FROM payloads p WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = p.job) AND NOT EXISTS "
         "(SELECT 1 FROM archive WHERE id = p.job)"},
    Rule{"each job has its payload once",
         "SELECT count(*) FROM (SELECT id, payload FROM jobs UNION ALL SELECT id, payload FROM archive) a LEFT JOIN "
         "payloads p ON p.job = a.id WHERE (a.payload IS NULL) <> (p.payload IS NOT NULL)"},
    Rule{"far-off jobs are found by their time",
         "SELECT (SELECT count(*) FROM jobs j LEFT JOIN later l ON l.job = j.id AND l.run_at = j.run_at "
         "WHERE j.later <> (l.job IS NOT NULL)) + (SELECT count(*) FROM later WHERE job NOT IN (SELECT id FROM jobs))"},
    Rule{"live jobs are found by their deadline",
         "SELECT (SELECT count(*) FROM jobs j LEFT JOIN deadlines d ON d.job = j.id AND d.deadline = j.deadline WHERE "
         "(j.deadline IS NOT NULL) <> (d.job IS NOT NULL)) + (SELECT count(*) FROM deadlines WHERE job NOT IN "
         "(SELECT id FROM jobs))"},
    Rule{"each key has its job",
         "SELECT count(*) FROM keys k WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = k.job) AND NOT EXISTS "
         "(SELECT 1 FROM archive WHERE id = k.job)"},
    Rule{"each attempt has its job",
         "SELECT count(*) FROM attempts a WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = a.job) AND NOT EXISTS "
         "(SELECT 1 FROM archive WHERE id = a.job)"},
    Rule{"who waits is live and waiting, for one that is live",
         "SELECT count(*) FROM dependencies d LEFT JOIN jobs c ON c.id = d.child LEFT JOIN jobs p ON p.id = d.parent "
         "WHERE c.id IS NULL OR c.state <> 0 OR p.id IS NULL"},
    Rule{"a waiting job waits for something",
         "SELECT count(*) FROM jobs WHERE state = 0 AND id NOT IN (SELECT child FROM dependencies)"},
    Rule{"each job's lane and type have names",
         "SELECT count(*) FROM (SELECT lane, type FROM jobs UNION ALL SELECT lane, type FROM archive) a LEFT JOIN "
         "lanes l ON l.id = a.lane LEFT JOIN types t ON t.id = a.type WHERE l.id IS NULL OR t.id IS NULL"},
    Rule{"kept counts are what a recount gives",
         "WITH counted AS (SELECT lane, CASE WHEN e.job IS NULL THEN state ELSE 2 END AS state, count(*) AS n FROM "
         "jobs LEFT JOIN leases e ON e.job = id GROUP BY 1, 2 UNION ALL SELECT lane, state, count(*) FROM archive "
         "GROUP BY 1, 2), kept AS (SELECT lane, state, count AS n FROM counts WHERE count <> 0) "
         "SELECT (SELECT count(*) FROM (SELECT * FROM counted EXCEPT SELECT * FROM kept)) + "
         "(SELECT count(*) FROM (SELECT * FROM kept EXCEPT SELECT * FROM counted))"},
};

constexpr const char* kJobs =
    "SELECT j.id, CASE WHEN e.job IS NULL THEN j.state ELSE 2 END, coalesce(e.token, j.token), j.attempts, "
    "(SELECT count(*) FROM attempts a WHERE a.job = j.id), coalesce(j.payload, p.payload), e.worker "
    "FROM jobs j LEFT JOIN leases e ON e.job = j.id LEFT JOIN payloads p ON p.job = j.id UNION ALL "
    "SELECT r.id, r.state, r.token, r.attempts, (SELECT count(*) FROM attempts a WHERE a.job = r.id), "
    "coalesce(r.payload, p.payload), r.worker FROM archive r LEFT JOIN payloads p ON p.job = r.id";

void read_all(PlainConnection& connection, Snapshot& snapshot) {
  for (const auto& row : connection.rows("PRAGMA integrity_check")) {
    if (row.front() != "ok") snapshot.faults.push_back("integrity_check: " + row.front());
  }
  for (const Rule& rule : kRules) {
    const std::string broken = connection.answer(rule.broken);
    if (broken != "0") snapshot.faults.push_back(fmt::format("not so: {} ({} rows)", rule.what, broken));
  }
  for (const auto& row : connection.rows(kJobs)) {
    snapshot.jobs[JobId{std::stoll(row[0])}] = {.state = static_cast<JobState>(std::stoi(row[1])),
                                                .token = std::stoll(row[2]),
                                                .attempts = std::stoll(row[3]),
                                                .attempt_rows = std::stoll(row[4]),
                                                .payload_hash = payload_hash(row[5]),
                                                .key = {},
                                                .worker = row[6]};
  }
  for (const auto& row : connection.rows("SELECT job, key FROM keys")) {
    const auto job = snapshot.jobs.find(JobId{std::stoll(row[0])});
    if (job != snapshot.jobs.end()) job->second.key = row[1];
  }
}

}  // namespace

Snapshot rows_on_disk(const std::string& path, const std::string& vfs) {
  Snapshot snapshot;
  try {
    PlainConnection connection(path, vfs);
    connection.run("BEGIN");
    read_all(connection, snapshot);
  } catch (const std::exception& error) {
    snapshot.faults.push_back(std::string("cannot be read: ") + error.what());
  }
  return snapshot;
}

}  // namespace carillon::test
