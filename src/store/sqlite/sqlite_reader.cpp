#include "store/sqlite/sqlite_reader.h"

#include <sqlite3.h>

#include <algorithm>
#include <unordered_map>

#include "base/clock.h"
#include "store/job_match.h"
#include "store/reading.h"
#include "store/refusals.h"
#include "store/sqlite/reader_session.h"
#include "store/sqlite/sqlite_rows.h"

namespace carillon {

namespace {

constexpr std::size_t kSessionsMax = 16;
// How often a running statement looks at the time, in its own steps.
constexpr int kStepsBetweenLooks = 10'000;

}  // namespace

SqliteReader::Session::Session(std::unique_ptr<Connection> opened) : connection(std::move(opened)) {
  sqlite3_progress_handler(
      connection->handle(), kStepsBetweenLooks,
      [](void* self) { return boot_now() > static_cast<Session*>(self)->cut_at ? 1 : 0; }, this);
}

SqliteReader::SqliteReader(Connection::Options options, const StoreClock& clock)
    : options_(std::move(options)), clock_(clock) {}

SqliteReader::~SqliteReader() = default;

void SqliteReader::pause(std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  paused_ = true;
  changed_.wait_for(lock, at_most, [&] { return idle_.size() == open_; });
}

void SqliteReader::resume() {
  const std::scoped_lock lock(mutex_);
  paused_ = false;
  changed_.notify_all();
}

Result<std::unique_ptr<SqliteReader::Session>> SqliteReader::take_session() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !paused_ && (!idle_.empty() || open_ < kSessionsMax); });
    if (!idle_.empty()) {
      auto session = std::move(idle_.back());
      idle_.pop_back();
      return session;
    }
    ++open_;
  }
  auto connection = Connection::open(options_);
  if (!connection) {
    const std::scoped_lock lock(mutex_);
    --open_;
    changed_.notify_all();
    return std::unexpected(std::move(connection).error());
  }
  return std::make_unique<Session>(*std::move(connection));
}

void SqliteReader::give_back(std::unique_ptr<Session> session) {
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(session));
  changed_.notify_all();
}

namespace {

std::optional<std::string> name_of(Query& query) {
  std::optional<std::string> name;
  if (query.next()) name = query.string(0);
  query.reset();
  return name;
}

// Whether a filter can match live jobs, or finished ones.
bool wants(const JobQuery& query, bool final) {
  return query.states.empty() ||
         std::ranges::any_of(query.states, [&](JobState state) { return is_final(state) == final; });
}

}  // namespace

// ---- Jobs -------------------------------------------------------------------------------------------------------

namespace {

// Fills in what stands in other tables. `payload` is what the row holds.
template <typename Session>
void complete_view(Session& session, const StoreClock& clock, std::string_view payload, JobView& view) {
  const JobRow& row = view.row;
  view.state = row.state;
  view.payload = payload;
  session.type.with(row.type);
  view.type = name_of(session.type).value_or(std::string());
  if (row.schedule) {
    session.schedule_name.with(row.schedule);
    view.schedule = name_of(session.schedule_name).value_or(std::string());
  }
  if (payload.empty()) {
    session.long_payload.with(row.id);
    view.payload = name_of(session.long_payload).value_or(std::string());
  }
  if (is_final(row.state)) return;
  session.lease.with(row.id);
  if (session.lease.next()) {
    view.lease = read_lease_row(session.lease);
    view.state = JobState::processing;
    view.lease_until = clock.wall_at(view.lease->until);
  }
  session.lease.reset();
}

}  // namespace

Result<JobView> SqliteReader::job(std::string_view tenant, JobId id) {
  return read([&](Session& session) -> Result<JobView> {
    JobView view;
    std::optional<ArchiveRow> archived;
    std::string payload;
    session.live.with(id);
    session.archived.with(id);
    if (session.live.next()) {
      view.row = read_job_row(session.live);
      payload = session.live.text(kJobColumns);
    } else if (session.archived.next()) {
      archived = read_archive_row(session.archived);
      view.row = archived->job;
      view.finished_at = archived->finished_at;
      view.started_at = archived->started_at;
      payload = session.archived.text(kArchiveColumns);
    }
    session.live.reset();
    session.archived.reset();
    if (!view.row.id) return absent_job(id);
    session.lane.with(view.row.lane);
    if (session.lane.next()) view.lane = {.tenant = session.lane.string(0), .queue = session.lane.string(1)};
    session.lane.reset();
    if (view.lane.tenant != tenant) return absent_job(id);
    complete_view(session, clock_, payload, view);
    session.attempts.with(id);
    view.attempts = rows_of(session.attempts, read_attempt_row);
    if (archived) append_ending_attempt(*archived, view);
    session.parents.with(id);
    view.waits_for = rows_of(session.parents, [](const Query& query) { return JobId{query.integer(0)}; });
    return view;
  });
}

namespace {

// One side of a list, live or archived, walked from new to old.
struct Walk {
  Query* query = nullptr;
  int payload_column = 0;
  bool more = false;
  JobId id() const { return {query->integer(0)}; }
  void advance() { more = query->next(); }
};

// What a query means in numbers, so that a row that is not meant costs nothing but a look.
struct Sieve {
  explicit Sieve(const JobQuery& asked) : matcher(asked) {}

  JobMatcher matcher;
  std::unordered_map<std::int64_t, Lane> lanes;  // that are meant
  std::optional<std::int64_t> type;
  std::optional<std::int64_t> schedule;

  bool lets_through(const Query& row, int payload_column) {
    if (!lanes.contains(row.integer(2))) return false;
    if (type && row.integer(3) != *type) return false;
    const bool is_of_schedule = schedule && row.integer(10) == *schedule;
    if (!matcher.told({.is_of_schedule = is_of_schedule, .subject = row.text(11), .options = row.text(13)})) {
      return false;
    }
    // A long payload stands elsewhere: it is looked at when the row is complete.
    return row.is_null(payload_column) || matcher.payload(row.text(payload_column));
  }
  bool accepts(const JobView& view) const { return matcher.state(view.state) && matcher.payload(view.payload); }
};

}  // namespace

Result<JobPage> SqliteReader::jobs(const JobQuery& query, JobId before, std::size_t limit) {
  return read([&](Session& session) -> Result<JobPage> {
    JobPage page;
    Sieve sieve(query);
    for (session.lanes_of.with(query.tenant); session.lanes_of.next();) {
      Lane lane{.tenant = session.lanes_of.string(1), .queue = session.lanes_of.string(2)};
      if (!query.queue || lane.queue == *query.queue) sieve.lanes.emplace(session.lanes_of.integer(0), lane);
    }
    if (query.type) {
      session.type_id.with(*query.type);
      if (session.type_id.next()) sieve.type = session.type_id.integer(0);
      session.type_id.reset();
    }
    if (query.schedule) {
      session.schedule.with(query.tenant, *query.schedule);
      if (session.schedule.next()) sieve.schedule = session.schedule.integer(0);
      session.schedule.reset();
    }
    const bool nothing =
        sieve.lanes.empty() || (query.type && !sieve.type) || (query.schedule && !sieve.schedule) || limit == 0;
    if (nothing) return page;

    JobId below = before ? before : kJobIdMax;
    if (query.until) below = std::min(below, first_job_id_at(*query.until));
    const JobId from = query.since ? first_job_id_at(*query.since) : JobId{};
    Walk live{.query = &session.live_below, .payload_column = kJobColumns};
    Walk archived{.query = &session.archived_below, .payload_column = kArchiveColumns};
    live.query->with(below, from);
    archived.query->with(below, from);
    if (wants(query, false)) live.advance();
    if (wants(query, true)) archived.advance();

    const BootTime stop_at = boot_now() + kListMax;
    std::size_t bytes = 0;
    for (int looked = 1; live.more || archived.more; ++looked) {
      const bool from_live = live.more && (!archived.more || live.id() > archived.id());
      Walk& walk = from_live ? live : archived;
      const JobId id = walk.id();
      bool look = looked % kRowsBetweenLooks == 0;
      if (sieve.lets_through(*walk.query, walk.payload_column)) {
        JobView view;
        if (from_live) {
          view.row = read_job_row(*walk.query);
        } else {
          ArchiveRow ended = read_archive_row(*walk.query);
          view = {.row = std::move(ended.job), .finished_at = ended.finished_at, .started_at = ended.started_at};
        }
        view.lane = sieve.lanes.at(view.row.lane.value);
        complete_view(session, clock_, walk.query->text(walk.payload_column), view);
        if (sieve.accepts(view)) {
          bytes += view.payload.size();
          page.jobs.push_back(std::move(view));
        }
        look = true;  // a long payload may have come from a slow disk
      }
      walk.advance();
      const bool full = page.jobs.size() == page_size(limit) || bytes >= kPageBytesMax;
      if (full || (look && boot_now() > stop_at)) {
        if (live.more || archived.more) page.next_before = id;
        break;
      }
    }
    live.query->reset();
    archived.query->reset();
    return page;
  });
}

Result<std::vector<StateCount>> SqliteReader::counts(std::string_view tenant) {
  return read([&](Session& session) -> Result<std::vector<StateCount>> {
    session.counts.with(tenant);
    return rows_of(session.counts, [&](const Query& query) {
      return StateCount{.lane = {.tenant = std::string(tenant), .queue = query.string(0)},
                        .state = read_state(query, 1),
                        .count = query.integer(2)};
    });
  });
}

Result<std::int64_t> SqliteReader::count_of(JobState state) {
  return read([&](Session& session) -> Result<std::int64_t> {
    session.count_of.with(state);
    const auto sums = rows_of(session.count_of, [](const Query& query) { return query.integer(0); });
    return sums.empty() ? 0 : sums.front();
  });
}

// ---- Documents, audit -------------------------------------------------------------------------------------------

Result<Document> SqliteReader::document(const DocumentKey& key) {
  return read([&](Session& session) -> Result<Document> {
    session.document.with(key.tenant, key.kind, key.name);
    auto rows = rows_of(session.document, [&](const Query& query) {
      return Document{
          .key = key, .revision = query.integer(0), .body = query.string(1), .updated_at = query.instant(2)};
    });
    if (rows.empty()) return absent(key.kind, key.name);
    return std::move(rows.front());
  });
}

Result<std::vector<Document>> SqliteReader::documents(std::string_view tenant, std::string_view kind,
                                                      std::string_view after, std::size_t limit) {
  return read([&](Session& session) -> Result<std::vector<Document>> {
    session.documents.with(tenant, kind, after, page_size(limit));
    return rows_of(session.documents, [&](const Query& query) {
      return Document{.key = {.tenant = std::string(tenant), .kind = std::string(kind), .name = query.string(0)},
                      .revision = query.integer(1),
                      .body = query.string(2),
                      .updated_at = query.instant(3)};
    });
  });
}

Result<std::vector<AuditRow>> SqliteReader::audit(std::string_view tenant, std::int64_t before, std::size_t limit) {
  return read([&](Session& session) -> Result<std::vector<AuditRow>> {
    session.audit.with(tenant, before == 0 ? INT64_MAX : before, page_size(limit));
    return rows_of(session.audit, [](const Query& query) {
      return AuditRow{.sequence = query.integer(0),
                      .at = query.instant(1),
                      .tenant = query.string(2),
                      .actor = query.string(3),
                      .action = query.string(4),
                      .target = query.string(5),
                      .detail = AuditDetail::stored(query.string(6))};
    });
  });
}

}  // namespace carillon
