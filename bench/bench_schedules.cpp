#include "bench/benchmarks.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "base/check.h"
#include "bench/bench_report.h"
#include "bench/delivery_users.h"
#include "bench/hand_engine.h"
#include "bench/measuring.h"
#include "bench/raw_subjects.h"
#include "bench/subject_storm.h"

namespace carillon {

namespace {

constexpr const char* kSameRows = "the same rows written by hand against SQLite";
constexpr double kMebibyte = 1 << 20;

struct Scale {
  std::vector<std::int64_t> users = {10'000, 1'000'000, 10'000'000};
  int ticks = 40;
  int import_rounds = 10;
  std::int64_t storm = 1'000'000;
  int storm_rounds = 3;
};

Scale quick_scale() {
  return {.users = {2'000, 20'000}, .ticks = 6, .import_rounds = 4, .storm = 20'000, .storm_rounds = 1};
}

double milliseconds_of(const std::function<void()>& work) { return 1e3 * seconds_of(work); }

std::int64_t microseconds(Instant at) { return at.time_since_epoch().count(); }

// One file of ours and one of the raw loop, with the same users.
class Population {
 public:
  Population(const std::string& folder, std::int64_t count)
      : users_(count),
        ours_(fmt::format("{}/ours-{}.db", folder, count)),
        raw_(fmt::format("{}/raw-{}.db", folder, count)) {}
  Population(const Population&) = delete;
  Population& operator=(const Population&) = delete;
  ~Population() {
    for (const std::string& path : {ours_, raw_}) {
      for (const char* const end : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(path + end);
    }
  }

  const DeliveryUsers& users() const { return users_; }
  const std::string& ours() const { return ours_; }
  const std::string& raw() const { return raw_; }
  std::string suffix() const { return fmt::format("_{}", users_.count()); }

  struct Pairs {
    std::vector<double> ours;
    std::vector<double> raw;
    std::vector<double> ratios;
  };
  // Users per second, in turns.
  Pairs import(int rounds) {
    tell(fmt::format("importing {} subjects, and inserting as many by hand", users_.count()));
    HandEngine engine(ours_, bench_day());
    must(engine.client().put_schedule("default", DeliveryUsers::schedule()));
    RawSubjects raw(raw_);
    Pairs pairs;
    const std::int64_t a_round = std::max<std::int64_t>(1, users_.count() / rounds);
    for (std::int64_t first = 0; first < users_.count(); first += a_round) {
      const std::int64_t end = std::min(users_.count(), first + a_round);
      double our_seconds = 0;
      double raw_seconds = 0;
      for (std::int64_t begin = first; begin < end; begin += kImportLines) {
        our_seconds += import_chunk(engine, begin, std::min(kImportLines, end - begin));
      }
      for (std::int64_t begin = first; begin < end; begin += kImportLines) {
        raw_seconds += insert_chunk(raw, begin, std::min(kImportLines, end - begin));
      }
      pairs.ours.push_back(static_cast<double>(end - first) / our_seconds);
      pairs.raw.push_back(static_cast<double>(end - first) / raw_seconds);
      pairs.ratios.push_back(raw_seconds / our_seconds);
    }
    return pairs;
  }

  double bytes_a_user(const std::string& path) const {
    return static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(users_.count());
  }

 private:
  // The text is there already when somebody imports a file.
  double import_chunk(HandEngine& engine, std::int64_t first, std::int64_t count) const {
    const std::string lines = users_.lines(first, count);
    return seconds_of([&] { must(engine.client().import_subjects("default", "digest", lines)); });
  }
  double insert_chunk(RawSubjects& raw, std::int64_t first, std::int64_t count) const {
    std::vector<RawSubjects::User> rows;
    rows.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = first; i < first + count; ++i) {
      rows.push_back({.name = DeliveryUsers::name(i),
                      .overrides = users_.overrides(i),
                      .next_at = microseconds(users_.next_at(i))});
    }
    return seconds_of([&] { raw.insert(rows); });
  }

  const DeliveryUsers users_;
  const std::string ours_;
  const std::string raw_;
};

// The benchmark, one measurement after the other.
class SchedulesBench {
 public:
  SchedulesBench(std::string folder, Scale scale) : folder_(std::move(folder)), scale_(std::move(scale)) {}
  SchedulesBench(const SchedulesBench&) = delete;
  SchedulesBench& operator=(const SchedulesBench&) = delete;
  ~SchedulesBench() = default;

  std::vector<BenchFigure> run() {
    for (const std::int64_t count : scale_.users) {
      Population population(folder_, count);
      import(population);
      on_disk(population);
      in_memory(population);
      ticks(population);
    }
    storm();
    return figures_;
  }

 private:
  void add(BenchFigure figure, bool reached) {
    figure.reached = reached;
    figures_.push_back(std::move(figure));
  }

  void import(Population& population) {
    const Population::Pairs pairs = population.import(scale_.import_rounds);
    const double ratio = median_of(pairs.ratios);
    add({.name = "import" + population.suffix(),
         .ours = median_of(pairs.ours),
         .raw = median_of(pairs.raw),
         .ratio = ratio,
         .unit = "1/s",
         .raw_is = kSameRows,
         .goal = "ratio >= 0.4"},
        ratio >= 0.4);
  }

  void on_disk(const Population& population) {
    const double ours = population.bytes_a_user(population.ours());
    const double raw = population.bytes_a_user(population.raw());
    add({.name = "disk_a_subject" + population.suffix(),
         .ours = ours,
         .raw = raw,
         .ratio = ours / raw,
         .unit = "bytes",
         .raw_is = kSameRows,
         .goal = "<= 200 bytes"},
        ours <= 200);
  }

  // What an engine takes on that opens the file and finds nothing due, without SQLite's page cache, which has a bound
  // of its own.
  void in_memory(const Population& population) {
    malloc_trim(0);
    const std::int64_t before = resident_bytes() - sqlite_bytes();
    HandEngine engine(population.ours(), bench_day());
    engine.settle_down();
    engine.tick();
    const double grown = static_cast<double>(resident_bytes() - sqlite_bytes() - before) / kMebibyte;
    if (!memory_of_few_) memory_of_few_ = grown;
    add({.name = "resident" + population.suffix(),
         .ours = grown,
         .raw = *memory_of_few_,
         .ratio = std::max(grown, 0.1) / std::max(*memory_of_few_, 0.1),
         .unit = "MiB",
         .raw_is = "with the fewest subjects",
         .goal = "at most 2 MiB more"},
        grown <= *memory_of_few_ + 2);
  }

  struct Ticks {
    std::vector<double> plan;
    std::vector<double> round;
    std::vector<double> raw;
    std::vector<double> ratios;
    void add(const HandEngine::Tick& tick, double raw_ms) {
      plan.push_back(tick.plan_ms);
      round.push_back(tick.round_ms);
      raw.push_back(raw_ms);
      ratios.push_back(tick.round_ms / raw_ms);
    }
  };

  void ticks(const Population& population) {
    tell(fmt::format("ticks with {} subjects", population.users().count()));
    HandEngine engine(population.ours(), bench_day());
    RawSubjects raw(population.raw());
    engine.settle_down();
    tell_ticks("tick_none_due" + population.suffix(), idle_ticks(engine, raw), none_of_few_);
    tell_ticks("tick_1000_due" + population.suffix(), due_ticks(population.users(), engine, raw), due_of_few_);
  }

  Ticks idle_ticks(HandEngine& engine, RawSubjects& raw) const {
    Ticks ticks;
    for (int i = 0; i < scale_.ticks; ++i) {
      const HandEngine::Tick tick = engine.tick();
      CHECK(tick.looked_at == 0);
      ticks.add(tick, milliseconds_of([&] { raw.plan(microseconds(bench_day()), 1000); }));
    }
    return ticks;
  }

  // Each group is due in its own minute; after the last one, the first is due again on the next day.
  Ticks due_ticks(const DeliveryUsers& users, HandEngine& engine, RawSubjects& raw) const {
    Ticks ticks;
    for (int i = 0; i < scale_.ticks; ++i) {
      const std::int64_t day = i / users.groups();
      const Instant at = DeliveryUsers::opens_at(i % users.groups()) + std::chrono::days(day);
      if (day > 0 && i % users.groups() == 0) {
        // What the day before has left open reaches its cutoff.
        engine.set_time(at - std::chrono::minutes(1));
        engine.settle_down();
      }
      engine.set_time(at);
      const HandEngine::Tick tick = engine.tick();
      CHECK(tick.looked_at == DeliveryUsers::kGroup);
      ticks.add(tick, milliseconds_of(
                          [&] { CHECK(raw.plan(microseconds(at), 1000) == static_cast<int>(DeliveryUsers::kGroup)); }));
      engine.settle_down();
    }
    return ticks;
  }

  // Whole rounds, in milliseconds.
  struct OfFew {
    double p50 = 0;
    double p95 = 0;
  };
  void tell_ticks(const std::string& name, const Ticks& ticks, std::optional<OfFew>& of_few) {
    const double p95 = percentile_of(ticks.round, 95);
    add({.name = name + "_p95",
         .ours = p95,
         .raw = percentile_of(ticks.raw, 95),
         .ratio = median_of(ticks.ratios),
         .unit = "ms",
         .raw_is = kSameRows,
         .goal = "<= 20 ms"},
        p95 <= 20);
    figures_.push_back({.name = name + "_planning_p95",
                        .ours = percentile_of(ticks.plan, 95),
                        .raw = p95,
                        .ratio = median_of(ticks.plan) / median_of(ticks.round),
                        .unit = "ms",
                        .raw_is = "the whole round, with its commit",
                        .goal = ""});
    const double median = median_of(ticks.round);
    if (!of_few) of_few = OfFew{.p50 = median, .p95 = p95};
    add({.name = name + "_p95_growth",
         .ours = p95,
         .raw = of_few->p95,
         .ratio = p95 / of_few->p95,
         .unit = "ms",
         .raw_is = "with the fewest subjects",
         .goal = "ratio <= 2"},
        p95 <= 2 * of_few->p95);
    add({.name = name + "_p50_growth",
         .ours = median,
         .raw = of_few->p50,
         .ratio = median / of_few->p50,
         .unit = "ms",
         .raw_is = "with the fewest subjects",
         .goal = "ratio <= 2"},
        median <= 2 * of_few->p50);
  }

  void storm() {
    tell(fmt::format("{} subjects due at once: preparing both files", scale_.storm));
    const std::string prepared = folder_ + "/storm.db";
    prepare_storm(prepared, scale_.storm);
    std::vector<double> ours;
    std::vector<double> raw;
    std::vector<double> ratios;
    std::vector<double> late;
    std::vector<double> rounds;
    for (int round = 0; round < scale_.storm_rounds; ++round) {
      tell(fmt::format("{} subjects due at once, round {}", scale_.storm, round + 1));
      const std::string path = folder_ + "/storm-round.db";
      std::filesystem::copy_file(prepared, path, std::filesystem::copy_options::overwrite_existing);
      const Storm one = run_storm(path, scale_.storm);
      for (const char* const end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end);
      const double by_hand = storm_by_hand();
      ours.push_back(one.seconds);
      raw.push_back(by_hand);
      ratios.push_back(by_hand / one.seconds);
      late.push_back(one.late_max);
      rounds.insert(rounds.end(), one.planning_ms.begin(), one.planning_ms.end());
    }
    const double ratio = median_of(ratios);
    const double seconds = median_of(ours);
    const std::string suffix = fmt::format("_{}", scale_.storm);
    const auto a_second = [&](double all) { return static_cast<double>(scale_.storm) / all; };
    add({.name = "due_at_once" + suffix,
         .ours = a_second(seconds),
         .raw = a_second(median_of(raw)),
         .ratio = ratio,
         .unit = "1/s",
         .raw_is = kSameRows,
         .goal = "ratio >= 0.5"},
        ratio >= 0.5);
    add({.name = "due_at_once_whole" + suffix,
         .ours = seconds,
         .raw = median_of(raw),
         .ratio = seconds / median_of(raw),
         .unit = "s",
         .raw_is = kSameRows,
         .goal = "<= 50 s"},
        seconds <= 50);
    // A round takes up to a thousand, however many are due.
    const double p95 = percentile_of(rounds, 95);
    add({.name = "tick_due_at_once" + suffix + "_planning_p95",
         .ours = p95,
         .raw = median_of(rounds),
         .ratio = p95 / median_of(rounds),
         .unit = "ms",
         .raw_is = "the median of the same rounds",
         .goal = "<= 20 ms"},
        p95 <= 20);
    const double late_max = std::ranges::max(late);
    add({.name = "late_beside_due_at_once" + suffix,
         .ours = late_max,
         .raw = 1,
         .ratio = late_max,
         .unit = "s",
         .raw_is = "the goal",
         .goal = "<= 1 s"},
        late_max <= 1);
  }

  double storm_by_hand() const {
    const std::string path = folder_ + "/storm-raw.db";
    double seconds = 0;
    {
      RawSubjects raw(path);
      constexpr std::int64_t kChunk = 5000;
      for (std::int64_t first = 0; first < scale_.storm; first += kChunk) {
        std::vector<RawSubjects::User> rows;
        for (std::int64_t i = first; i < std::min(scale_.storm, first + kChunk); ++i) {
          rows.push_back({.name = DeliveryUsers::name(i), .overrides = "", .next_at = microseconds(bench_day())});
        }
        raw.insert(rows);
      }
      seconds = seconds_of([&] {
        while (raw.plan(microseconds(bench_day()), 1000) > 0) {
        }
      });
    }
    for (const char* const end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end);
    return seconds;
  }

  const std::string folder_;
  const Scale scale_;
  std::optional<double> memory_of_few_;
  std::optional<OfFew> none_of_few_;
  std::optional<OfFew> due_of_few_;
  std::vector<BenchFigure> figures_;
};

}  // namespace

Result<std::string> run_bench_schedules(const BenchRequest& request) {
  TRY(check_folder(request.folder));
  const ScratchFolder folder(request.folder);
  const std::vector<BenchFigure> figures = SchedulesBench(folder.path(), request.quick ? quick_scale() : Scale{}).run();
  return request.json ? bench_json(figures) : bench_table(figures);
}

}  // namespace carillon
