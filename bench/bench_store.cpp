#include "bench/benchmarks.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "base/check.h"
#include "bench/bench_report.h"
#include "bench/measuring.h"
#include "bench/raw_sqlite.h"
#include "bench/store_loop.h"
#include "store/sqlite/sqlite_store.h"

namespace carillon {

namespace {

using std::chrono::milliseconds;

constexpr int kRounds = 7;

struct Scale {
  std::int64_t small_backlog = 100'000;
  std::int64_t backlog = 1'000'000;
  std::int64_t archive = 5'000'000;
  std::int64_t live_at_open = 5'000'000;
  int cycles_max = 20'000;  // of one round
};

Scale quick_scale() {
  return {.small_backlog = 2'000, .backlog = 5'000, .archive = 10'000, .live_at_open = 20'000, .cycles_max = 2'000};
}

// Both loops, on files of their own in the same condition.
class LifeCycles {
 public:
  LifeCycles(const std::string& folder, const Scale& scale, Store& store, std::vector<BenchFigure>& figures)
      : scale_(scale), payload_(bench_payload()), ours_(store, payload_), raw_(folder + "/raw.db"), figures_(figures) {}

  void measure(const std::string& condition) {
    for (const int batch : {1, 10, 100, 1000}) measure_batch(condition, batch);
  }

  void add_backlog(std::int64_t count) {
    tell(fmt::format("adding {} queued jobs to both files", count));
    for (std::int64_t done = 0; done < count; done += kFillBatch) {
      ours_.enqueue(kFillBatch);
      raw_.enqueue(kFillBatch, payload_);
    }
  }

  void add_archive(std::int64_t count) {
    tell(fmt::format("running {} jobs to their end in both files", count));
    for (std::int64_t done = 0; done < count; done += kFillBatch) {
      ours_.enqueue(kFillBatch);
      ours_.claim(kFillBatch);
      ours_.settle();
      raw_.enqueue(kFillBatch, payload_);
      raw_.claim(kFillBatch);
      raw_.settle();
      if (done % 1'000'000 == 0 && done > 0) tell(fmt::format("  {} of {}", done, count));
    }
  }

 private:
  static constexpr int kFillBatch = 5'000;

  // Seconds of one side, by what was done.
  struct Times {
    double enqueue = 0;
    double claim = 0;
    double settle = 0;
    double whole() const { return enqueue + claim + settle; }
  };

  Times run_ours(int batches, int batch) {
    Times times;
    for (int i = 0; i < batches; ++i) {
      times.enqueue += seconds_of([&] { ours_.enqueue(batch); });
      times.claim += seconds_of([&] { ours_.claim(batch); });
      times.settle += seconds_of([&] { ours_.settle(); });
    }
    return times;
  }

  Times run_raw(int batches, int batch) {
    Times times;
    for (int i = 0; i < batches; ++i) {
      times.enqueue += seconds_of([&] { raw_.enqueue(batch, payload_); });
      times.claim += seconds_of([&] { raw_.claim(batch); });
      times.settle += seconds_of([&] { raw_.settle(); });
    }
    return times;
  }

  // Rates and ratio of the rounds.
  struct Rounds {
    std::vector<double> ours;
    std::vector<double> raw;
    std::vector<double> ratios;
    void add(int count, double our_seconds, double raw_seconds) {
      ours.push_back(count / our_seconds);
      raw.push_back(count / raw_seconds);
      ratios.push_back(raw_seconds / our_seconds);
    }
    BenchFigure figure(const std::string& name) const {
      return {.name = name,
              .ours = median_of(ours),
              .raw = median_of(raw),
              .ratio = median_of(ratios),
              .unit = "1/s",
              .raw_is = "the same rows written by hand against SQLite"};
    }
  };

  void measure_batch(const std::string& condition, int batch) {
    const int cycles = std::clamp(batch * 200, 100, scale_.cycles_max);
    const int batches = std::max(1, cycles / batch);
    tell(fmt::format("life cycles, batch {}{}", batch, condition));
    Rounds whole;
    Rounds enqueue;
    Rounds claim;
    Rounds settle;
    for (int round = 0; round <= kRounds; ++round) {
      const Times ours = run_ours(batches, batch);
      const Times raw = run_raw(batches, batch);
      if (round == 0) continue;  // warms both
      whole.add(batches * batch, ours.whole(), raw.whole());
      enqueue.add(batches * batch, ours.enqueue, raw.enqueue);
      claim.add(batches * batch, ours.claim, raw.claim);
      settle.add(batches * batch, ours.settle, raw.settle);
    }
    BenchFigure figure = whole.figure(fmt::format("lifecycle_batch_{}{}", batch, condition));
    if (batch == 1000) {
      figure.goal = "ratio >= 0.7";
      figure.reached = figure.ratio >= 0.7;
    }
    figures_.push_back(figure);
    if (batch < 100) return;
    figures_.push_back(enqueue.figure(fmt::format("enqueue_batch_{}{}", batch, condition)));
    figures_.push_back(claim.figure(fmt::format("claim_batch_{}{}", batch, condition)));
    figures_.push_back(settle.figure(fmt::format("settle_batch_{}{}", batch, condition)));
  }

  const Scale& scale_;
  const std::string payload_;
  StoreLoop ours_;
  RawSqlite raw_;
  std::vector<BenchFigure>& figures_;
};

Result<Enqueued> enqueue_one(Store& store, const NewJob& job) {
  return std::move(store.jobs().enqueue(std::span(&job, 1)).front());
}

BenchFigure measure_idle_enqueue(Store& store, const std::string& folder, bool quick) {
  tell("one job at a time on an idle store");
  Overwrite overwrite(folder + "/overwrite");
  const NewJob job{.type = "bench", .payload = bench_payload()};
  std::vector<double> ours;
  std::vector<double> raw;
  std::vector<double> ratios;
  for (int i = 0; i < (quick ? 50 : 500); ++i) {
    std::this_thread::sleep_for(milliseconds(2));
    ours.push_back(1e6 * seconds_of([&] { must(enqueue_one(store, job)); }));
    std::this_thread::sleep_for(milliseconds(2));
    raw.push_back(1e6 * seconds_of([&] { overwrite(); }));
  }
  const double ratio = median_of(ours) / median_of(raw);
  return {.name = "enqueue_idle_durable",
          .ours = median_of(ours),
          .raw = median_of(raw),
          .ratio = ratio,
          .unit = "us",
          .raw_is = "overwrite of 4 KiB and fdatasync",
          .goal = "ratio <= 3",
          .reached = ratio <= 3};
}

void measure_open(const std::string& folder, const Scale& scale, std::vector<BenchFigure>& figures) {
  tell(fmt::format("writing {} live jobs", scale.live_at_open));
  const std::string path = folder + "/live.db";
  {
    auto store = open_sqlite({.path = path});
    must(store);
    StoreLoop loop(**store, bench_payload());
    for (std::int64_t done = 0; done < scale.live_at_open; done += 10'000) loop.enqueue(10'000);
  }
  malloc_trim(0);
  const std::int64_t resident_before = resident_bytes();
  std::unique_ptr<Store> store;
  std::vector<ReadyJob> ready;
  const double first_claim = seconds_of([&] {
    auto opened = open_sqlite({.path = path});
    must(opened);
    store = *std::move(opened);
    const auto page = store->jobs().load_live({}, store->jobs().now(), 1000);
    must(page);
    const JobId first = page->jobs.front().id;
    const auto leased = store->jobs().claim({.worker = "bench", .jobs = std::span(&first, 1)});
    must(leased);
    CHECK(leased->jobs.size() == 1);
  });
  const std::int64_t resident_opened = resident_bytes();
  ready.reserve(static_cast<std::size_t>(scale.live_at_open));
  const double filled = seconds_of([&] {
    for (JobId after;;) {
      const auto page = store->jobs().load_live(after, store->jobs().now(), 10'000);
      must(page);
      ready.insert(ready.end(), page->jobs.begin(), page->jobs.end());
      after = page->next_after;
      if (page->end) break;
    }
  });
  const double bytes_a_job =
      static_cast<double>(resident_bytes() - resident_opened) / static_cast<double>(ready.size());
  const std::string condition = fmt::format("_{}_live", scale.live_at_open);
  figures.push_back({.name = "open_first_claim" + condition,
                     .ours = first_claim,
                     .raw = 1,
                     .ratio = first_claim,
                     .unit = "s",
                     .raw_is = "the goal",
                     .goal = "<= 1 s",
                     .reached = first_claim <= 1});
  figures.push_back({.name = "open_ready_set_filled" + condition,
                     .ours = filled,
                     .raw = 15,
                     .ratio = filled / 15,
                     .unit = "s",
                     .raw_is = "the goal",
                     .goal = "<= 15 s",
                     .reached = filled <= 15});
  figures.push_back({.name = "open_resident_a_job" + condition,
                     .ours = bytes_a_job,
                     .raw = sizeof(ReadyJob),
                     .ratio = bytes_a_job / sizeof(ReadyJob),
                     .unit = "bytes",
                     .raw_is = "the entry itself",
                     .goal = "<= 100 bytes",
                     .reached = bytes_a_job <= 100});
  tell(fmt::format("resident before {} MiB, opened {} MiB", resident_before >> 20, resident_opened >> 20));
}

}  // namespace

Result<std::string> run_bench_store(const BenchRequest& request) {
  TRY(check_folder(request.folder));
  const Scale scale = request.quick ? quick_scale() : Scale{};
  const ScratchFolder folder(request.folder);
  std::vector<BenchFigure> figures;
  {
    TRY_ASSIGN(const std::unique_ptr<Store> store, open_sqlite({.path = folder.path() + "/store.db"}));
    figures.push_back(measure_idle_enqueue(*store, folder.path(), request.quick));
  }
  {
    TRY_ASSIGN(const std::unique_ptr<Store> store, open_sqlite({.path = folder.path() + "/cycles.db"}));
    LifeCycles cycles(folder.path(), scale, *store, figures);
    cycles.measure("");
    cycles.add_backlog(scale.small_backlog);
    cycles.measure(fmt::format("_backlog_{}", scale.small_backlog));
    cycles.add_backlog(scale.backlog - scale.small_backlog);
    cycles.measure(fmt::format("_backlog_{}", scale.backlog));
    cycles.add_archive(scale.archive);
    cycles.measure(fmt::format("_backlog_{}_archive_{}", scale.backlog, scale.archive));
  }
  measure_open(folder.path(), scale, figures);
  return request.json ? bench_json(figures) : bench_table(figures);
}

}  // namespace carillon
