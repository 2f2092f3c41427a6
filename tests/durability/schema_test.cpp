// Files that are not ours, not of our time, or not whole: refused in words, never a crash.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "durability/loaded_file.h"
#include "store/subject_text.h"

namespace carillon::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes(std::filesystem::file_size(path), '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

void put_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
}

class SchemaTest : public testing::Test {
 protected:
  std::string path() const { return folder_.file("jobs.db"); }
  // A store that was opened once and holds a few jobs.
  void make_store() {
    FixedClock clock;
    auto store = open_sqlite({.path = path()}, clock);
    ASSERT_TRUE(store) << store.error().message;
    Ledger ledger;
    Load load((*store)->jobs(), straight_to(**store), ledger, {.payload_bytes_max = 30'000});
    for (int i = 0; i < 60; ++i) ASSERT_TRUE(load.step());
  }
  // One that holds nothing and was last opened by a Carillon of that schema.
  void make_file_of_schema(int number) {
    ASSERT_TRUE(open_sqlite({.path = folder_.file("new.db")}));
    change(
        fmt::format("ATTACH '{}' AS new; PRAGMA application_id = 0x4361726C; "
                    "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, "
                    "applied_at INTEGER NOT NULL) STRICT; "
                    "INSERT INTO migrations SELECT * FROM new.migrations WHERE number <= {}",
                    folder_.file("new.db"), number));
    std::set<std::filesystem::path> steps;
    for (const auto& entry : std::filesystem::directory_iterator(CARILLON_MIGRATIONS)) steps.insert(entry.path());
    for (const std::filesystem::path& step : steps) {
      if (number-- > 0) change(bytes_of(step.string()));
    }
  }
  void change(const std::string& sql) {
    PlainConnection connection(path());
    connection.run(sql);
    connection.run("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  Error refusal() {
    Error error = error_of(open_sqlite({.path = path()}));
    EXPECT_THAT(error.message, HasSubstr("cannot open store"));
    EXPECT_THAT(error.message, HasSubstr(path()));
    expect_one_line(error);
    return error;
  }
  void report(const char* what, const Error& error) {
    std::printf("REPORT schema, %s: %s: %s\n", what, std::string(to_string(error.code)).c_str(), error.message.c_str());
  }

  ScratchFolder folder_;
};

// What stood in a file of the first schema stands in it after the steps that followed.
TEST_F(SchemaTest, AFileOfTheFirstSchemaIsBroughtUpToDate) {
  make_file_of_schema(1);
  change(
      "INSERT INTO schedules VALUES (7, 'default', 'standup', 3, 1, '{}', 1, NULL, NULL, 5, 6); "
      "INSERT INTO subjects VALUES (7, 'a', 1, 4, 50, 40, NULL, NULL, NULL, NULL, 0), "
      "(7, 'gone', 1, 2, NULL, 30, NULL, NULL, NULL, NULL, 1); "
      "INSERT INTO outcomes VALUES (7, 'a', 10, 20, 1, NULL, 8, 0, 'misfire', 25), "
      "(7, 'a', 40, NULL, 0, NULL, 8, 0, 'misfire', 45)");
  const auto opened = open_sqlite({.path = path()});
  ASSERT_TRUE(opened) << opened.error().message;
  StoreReader& reader = (*opened)->reader();

  EXPECT_EQ(value_of(reader.schedule("default", "standup")).revision, 3);
  EXPECT_EQ(value_of(reader.subject({7}, "a")).version, 4);
  EXPECT_EQ(error_of(reader.subject({7}, "gone")).code, ErrorCode::not_found);
  const auto outcomes = value_of(reader.outcomes({.schedule = {7}}));
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].count, 2);
  EXPECT_EQ(outcomes[0].until, Instant(Duration(20)));
  EXPECT_EQ(outcomes[1].count, 1);
  EXPECT_EQ(value_of((*opened)->plans().put_schedule({.name = "next", .definition = "{}"})).id, ScheduleId{8});
}

// Of the second one: subjects are counted and enabled, and what was open or parked is counted by its day in UTC.
TEST_F(SchemaTest, AFileOfTheSecondSchemaIsBroughtUpToDate) {
  make_file_of_schema(2);
  // 20,000 days since 1970 at 07:30, and a minute before 1970.
  change(
      "INSERT INTO schedules VALUES (7, 'default', 'standup', 3, 2, '{}', 1, NULL, NULL, 5, 6), "
      "(8, 'default', 'gone', 1, 1, '{}', 0, NULL, 9, 5, 6); "
      "INSERT INTO subjects VALUES (7, 'a', 2, 4, 50, 40, NULL, NULL, NULL, "
      "'{\"status\":\"success\",\"last_slot\":40,\"last_run_at\":45}', NULL), "
      "(7, 'b', 2, 1, NULL, NULL, NULL, NULL, NULL, "
      "'{\"status\":\"cutoff_reached\",\"last_slot\":40,\"last_error\":\"deadline\",\"error_count\":1}', NULL), "
      "(7, 'old', 1, 1, 60, NULL, NULL, NULL, NULL, NULL, NULL), "
      "(7, 'deleted', 2, 2, NULL, 30, NULL, NULL, NULL, NULL, 25), (8, 'a', 1, 1, NULL, 1, NULL, NULL, NULL, NULL, 9); "
      "INSERT INTO outcomes (schedule, subject, slot, job, outcome, parked, count) VALUES "
      "(7, 'a', 1728027000000000, 1, NULL, 0, 1), (7, 'b', 1728027000000000, 2, NULL, 0, 1), "
      "(7, 'c', 1728027001000000, 3, NULL, 1, 1), (7, 'd', 1728027000000000, 4, 4, 0, 1), "
      "(7, 'e', -60000000, 5, NULL, 0, 1); "
      "INSERT INTO outcome_counts VALUES (7, 20000, 450, 4, 1)");
  const auto opened = open_sqlite({.path = path()});
  ASSERT_TRUE(opened) << opened.error().message;
  StoreReader& reader = (*opened)->reader();

  EXPECT_EQ(value_of(reader.schedule("default", "standup")).subjects, 2);
  const SubjectRow a = value_of(reader.subject({7}, "a"));
  EXPECT_TRUE(a.enabled);
  EXPECT_EQ(a.status, JobState::done);
  EXPECT_EQ(a.last_slot, Instant(Duration(40)));
  EXPECT_EQ(a.last_run_at, Instant(Duration(45)));
  EXPECT_EQ(a.state, "");
  const SubjectState b = value_of(read_subject_state(value_of(reader.subject({7}, "b"))));
  EXPECT_EQ(b.status, JobState::cutoff_reached);
  EXPECT_EQ(b.last_error, "deadline");
  EXPECT_EQ(b.error_count, 1U);
  EXPECT_EQ(value_of(reader.outcomes({.schedule = {7}})).at(0).local_minute, 20'000 * 1440 + 450);
  std::map<JobState, std::int64_t> counts;
  for (const OutcomeCount& count : value_of(reader.outcome_counts({7}, 20'000))) {
    EXPECT_EQ(count.minute, 450);
    counts[count.outcome] = count.count;
  }
  EXPECT_THAT(counts, UnorderedElementsAre(Pair(kOpenOutcome, 2), Pair(JobState::dlq, 1), Pair(JobState::done, 1)));
  const auto before_1970 = value_of(reader.outcome_counts({7}, -1));
  ASSERT_EQ(before_1970.size(), 1U);
  EXPECT_EQ(before_1970[0].minute, 1439);
}

// Of the third one: no row is touched, and a schedule and a subject may say that something of them is parked.
TEST_F(SchemaTest, AFileOfTheThirdSchemaTakesWhatIsParked) {
  make_file_of_schema(3);
  change(
      "INSERT INTO schedules (id, tenant, name, revision, generation, definition, enabled, created_at, updated_at, "
      "subjects, last_outcome) VALUES (7, 'default', 'standup', 3, 1, '{}', 1, 5, 6, 1, 4); "
      "INSERT INTO subjects (id, schedule, subject, generation, version, enabled, status) VALUES (1, 7, 'a', 1, 4, 1, "
      "7)");
  {
    const auto opened = open_sqlite({.path = path()});
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(value_of((*opened)->reader().subject({7}, "a")).status, JobState::cutoff_reached);
    EXPECT_EQ(value_of((*opened)->reader().schedule("default", "standup")).results.last_outcome, JobState::done);
  }
  change("UPDATE subjects SET status = 3; UPDATE schedules SET last_outcome = 3");
  EXPECT_EQ(PlainConnection(path()).answer("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(PlainConnection(path()).answer("SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%status >= 4%'"), "0");
  const auto opened = open_sqlite({.path = path()});
  ASSERT_TRUE(opened) << opened.error().message;

  EXPECT_EQ(value_of((*opened)->reader().subject({7}, "a")).status, JobState::dlq);
  EXPECT_EQ(value_of((*opened)->reader().schedule("default", "standup")).results.last_outcome, JobState::dlq);
}

TEST_F(SchemaTest, AFileOfANewerCarillonIsRefused) {
  make_store();
  change("INSERT INTO migrations (number, name, checksum, applied_at) VALUES (9999, 'future', 'x', 0)");
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::conflict);
  EXPECT_THAT(error.message, AllOf(HasSubstr("9999"), HasSubstr("newer Carillon")));
  report("a newer file", error);

  change("DELETE FROM migrations WHERE number = 9999");
  EXPECT_TRUE(open_sqlite({.path = path()}));
}

TEST_F(SchemaTest, AChangedStepIsRefused) {
  make_store();
  change("UPDATE migrations SET checksum = '0123456789abcdef' WHERE number = 1");
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::conflict);
  EXPECT_THAT(error.message, HasSubstr("step 1"));
  report("a changed step", error);
}

TEST_F(SchemaTest, TheFileOfAnotherProgramIsRefusedAndLeftAsItWas) {
  for (const char* sql :
       {"CREATE TABLE bookmarks (url TEXT)", "CREATE TABLE bookmarks (url TEXT); PRAGMA application_id = 77",
        "CREATE TABLE migrations (number INTEGER PRIMARY KEY, version TEXT)",
        "PRAGMA application_id = 77; PRAGMA user_version = 3"}) {
    SCOPED_TRACE(sql);
    std::filesystem::remove(path());
    {
      PlainConnection connection(path());
      connection.run(sql);
    }
    const std::string before = bytes_of(path());
    const Error error = refusal();
    EXPECT_EQ(error.code, ErrorCode::conflict);
    EXPECT_THAT(error.message, HasSubstr("another program"));
    EXPECT_TRUE(bytes_of(path()) == before);
    if (std::string_view(sql).starts_with("PRAGMA")) report("another program's file", error);
  }
}

TEST_F(SchemaTest, ATextFileIsRefusedAndLeftAsItWas) {
  const std::string text = "Dear diary, today I wrote more than sixteen bytes, and then some more.\n";
  put_bytes(path(), text);
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::database_error);
  EXPECT_THAT(error.message, HasSubstr("not a database"));
  EXPECT_EQ(bytes_of(path()), text);
  report("a text file", error);
}

TEST_F(SchemaTest, AFolderOrAMissingFolderIsRefused) {
  std::filesystem::create_directory(path());
  report("a folder", refusal());
  const Error error = error_of(open_sqlite({.path = folder_.file("nowhere/jobs.db")}));
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_THAT(error.message, HasSubstr("nowhere"));
}

TEST_F(SchemaTest, AnEmptyFileBecomesAStore) {
  put_bytes(path(), "");
  EXPECT_TRUE(open_sqlite({.path = path()}));
}

// ---- Cut off while it is made ------------------------------------------------------------------------------------

TEST(SchemaPower, APowerFailureAtEachCallOfTheFirstOpenIsResumed) {
  std::uint64_t calls = 0;
  {
    LoadedFile file(DiskModel::in_memory);
    ASSERT_TRUE(file.open());
    calls = file.vfs().counts().of(kMutatingKinds);
  }
  int openings = 0;
  int cut = 0;
  for (std::uint64_t nth = 1; nth <= calls; ++nth) {
    for (const Survivors survivors : {Survivors::random, Survivors::none, Survivors::all}) {
      // One of the three each, unless there is time.
      if (!is_full_run() && static_cast<std::uint64_t>(survivors) != nth % 3) continue;
      ++openings;
      SCOPED_TRACE(fmt::format("call {}, survivors {}", nth, static_cast<int>(survivors)));
      LoadedFile file(DiskModel::in_memory);
      if (survivors == Survivors::random) {
        file.vfs().power_off_at(nth);
      } else {
        file.vfs().fail({.kinds = kMutatingKinds, .nth = nth, .lasts = FaultLasts::until_cleared});
      }
      cut += !file.open();
      file.vfs().power_off(survivors);
      file.close();
      file.vfs().clear_faults();
      file.vfs().power_on();
      const Result<void> again = file.open();
      ASSERT_TRUE(again) << again.error().message;
      ASSERT_TRUE(file.work(5).all_good());
      ASSERT_THAT(file.violations(), IsEmpty());
    }
  }
  std::printf(
      "REPORT schema: the first open was cut off at each of %zu calls that change the disk, %d times, %d before it "
      "was done; the next open went on each time\n",
      static_cast<std::size_t>(calls), openings, cut);
  EXPECT_GT(cut, 0);
}

// ---- Damage ------------------------------------------------------------------------------------------------------

constexpr std::size_t kPageBytes = 8192;

struct Damage {
  enum class Kind : std::uint8_t { zeros, noise, flips, cut };
  Kind kind;
  std::uint64_t seed;
};

std::string damaged(std::string bytes, const Damage& damage) {
  SeededRandom random(damage.seed);
  const std::size_t page = random.below(bytes.size() / kPageBytes) * kPageBytes;
  switch (damage.kind) {
    case Damage::Kind::zeros: std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(page), kPageBytes, '\0'); break;
    case Damage::Kind::noise:
      for (std::size_t i = 0; i < kPageBytes; ++i) bytes[page + i] = static_cast<char>(random.below(256));
      break;
    case Damage::Kind::flips:
      for (int i = 0; i < 20; ++i) {
        char& byte = bytes[page + random.below(kPageBytes)];
        byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << random.below(8)));
      }
      break;
    case Damage::Kind::cut: bytes.resize(page + kPageBytes / 2); break;
  }
  return bytes;
}

// Everything that can be asked, whatever the answers are. The codes of the errors among them.
std::set<ErrorCode> use_all_of(const std::string& path) {
  std::set<ErrorCode> codes;
  const auto note = [&](const auto& answer) {
    if (!answer) codes.insert(answer.error().code);
  };
  FixedClock clock;
  clock.advance(1h);
  auto store = open_sqlite({.path = path}, clock);
  note(store);
  if (!store) return codes;
  StoreReader& reader = (*store)->reader();
  JobStore& jobs = (*store)->jobs();
  const auto page = reader.jobs({.text = "fill"}, {}, 500);
  note(page);
  note(reader.counts("default"));
  std::vector<JobId> ids;
  if (page) {
    for (const JobView& view : page->jobs) ids.push_back(view.row.id);
  }
  for (const JobId id : ids) note(reader.job("default", id));
  const auto live = jobs.load_live({}, clock.wall(), 1000);
  note(live);
  note(jobs.load_later(clock.wall(), clock.wall() + 24h, 1000));
  const auto leases = jobs.leases();
  note(leases);
  for (const auto& answer :
       jobs.enqueue(std::array{NewJob{.type = "mail.send", .payload = "1"}, NewJob{.type = "new"}})) {
    note(answer);
  }
  for (const JobId id : ids) {
    const auto leased = jobs.claim({.worker = "eve", .jobs = {&id, 1}});
    note(leased);
    if (!leased || leased->jobs.empty()) continue;
    const Settlement done{.job = id, .token = leased->jobs.front().token};
    note(jobs.settle({&done, 1}).front());
  }
  if (leases) {
    for (const LeaseRow& lease : *leases) {
      const Settlement done{.job = lease.job, .token = lease.token};
      note(jobs.settle({&done, 1}).front());
    }
  }
  note(jobs.reap(100));
  note(jobs.finish_overdue(100, {}));
  note(jobs.act_on({}, JobAction::cancel, {}, 100));
  note(jobs.prune({}));
  return codes;
}

TEST_F(SchemaTest, ADamagedFileGivesErrorsAndNoCrash) {
  make_store();
  const std::string whole = bytes_of(path());
  ASSERT_GT(whole.size(), 20 * kPageBytes);
  const std::uint64_t files = is_full_run() ? 3000 : 60;
  std::uint64_t noticed = 0;
  std::uint64_t as_damage = 0;
  for (std::uint64_t seed = 1; seed <= files; ++seed) {
    const Damage damage{.kind = static_cast<Damage::Kind>(seed % 4), .seed = seed};
    SCOPED_TRACE(fmt::format("damage of kind {}, seed {}", seed % 4, seed));
    for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(path() + suffix);
    put_bytes(path(), damaged(whole, damage));
    const std::set<ErrorCode> codes = use_all_of(path());
    noticed += !codes.empty();
    as_damage += codes.contains(ErrorCode::database_error);
  }
  std::printf(
      "REPORT schema: of %zu damaged files (zeros, noise, flipped bits, cut off) none crashed; %zu gave an "
      "error, %zu of them database_error\n",
      static_cast<std::size_t>(files), static_cast<std::size_t>(noticed), static_cast<std::size_t>(as_damage));
  EXPECT_GT(as_damage, files / 4);
}

}  // namespace
}  // namespace carillon::test
