#include "bench/benchmarks.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/check.h"
#include "bench/bench_report.h"
#include "bench/closed_loop.h"
#include "bench/lease_workers.h"
#include "bench/loopback_http.h"
#include "bench/measuring.h"
#include "bench/parked_polls.h"
#include "bench/raw_answer.h"
#include "bench/server_process.h"
#include "bench/slow_clients.h"
#include "bench/store_loop.h"
#include "daemon/open_files.h"
#include "store/sqlite/sqlite_store.h"

namespace carillon {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kMegabyte = 1e6;

struct Scale {
  int pairs = 7;
  milliseconds length = seconds(2);  // of one round under load
  int connections = 64;
  int batches = 100;  // of 1,000 jobs, of one round
  int drained = 50'000;
  int parked = 5'000;
  int wakes = 300;
  int slow = 2'000;
  int others = 16;  // connections beside the slow ones
};

Scale quick_scale() {
  return {.pairs = 2,
          .length = milliseconds(200),
          .connections = 16,
          .batches = 4,
          .drained = 2'000,
          .parked = 100,
          .wakes = 10,
          .slow = 100,
          .others = 4};
}

// Two rates that were measured in turns.
class Turns {
 public:
  void add(double ours, double raw) {
    ours_.push_back(ours);
    raw_.push_back(raw);
    ratios_.push_back(ours / raw);
  }
  BenchFigure figure(const std::string& name, const std::string& unit, const std::string& raw_is) const {
    return {.name = name,
            .ours = median_of(ours_),
            .raw = median_of(raw_),
            .ratio = median_of(ratios_),
            .unit = unit,
            .raw_is = raw_is};
  }

 private:
  std::vector<double> ours_;
  std::vector<double> raw_;
  std::vector<double> ratios_;
};

// The benchmark, one measurement after the other, each with servers and files of its own.
class ServerBench {
 public:
  ServerBench(std::string folder, const Scale& scale) : folder_(std::move(folder)), scale_(scale) {}
  ServerBench(const ServerBench&) = delete;
  ServerBench& operator=(const ServerBench&) = delete;
  ~ServerBench() = default;

  std::vector<BenchFigure> run() {
    single_posts();
    batches();
    drains();
    parked_polls();
    slow_clients();
    return figures_;
  }

 private:
  std::unique_ptr<ServerProcess> server(const std::string& name) const {
    const std::string folder = folder_ + "/" + name;
    std::filesystem::create_directory(folder);
    auto made = std::make_unique<ServerProcess>(folder);
    // The tenant is made by the first write under it.
    LoopbackClient(made->target()).post("/v1/tenants/default/jobs", R"({"type":"bench.first"})", 201);
    return made;
  }

  std::unique_ptr<Store> store(const std::string& name) const {
    auto opened = open_sqlite({.path = folder_ + "/" + name + ".db"});
    must(opened);
    return *std::move(opened);
  }

  void add_at_least(double ratio, BenchFigure figure) {
    figure.goal = fmt::format("ratio >= {}", ratio);
    figure.reached = figure.ratio >= ratio;
    figures_.push_back(std::move(figure));
  }
  void add_at_most(double ratio, BenchFigure figure) {
    figure.goal = fmt::format("ratio <= {}", ratio);
    figure.reached = figure.ratio <= ratio;
    figures_.push_back(std::move(figure));
  }
  // Beside a goal that is a value.
  void add_below(double goal, const std::string& name, double ours, const std::string& unit) {
    figures_.push_back({.name = name,
                        .ours = ours,
                        .raw = goal,
                        .ratio = ours / goal,
                        .unit = unit,
                        .raw_is = "the goal",
                        .goal = fmt::format("<= {} {}", goal, unit),
                        .reached = ours <= goal});
  }

  static std::string new_job() { return fmt::format(R"({{"type":"bench","payload":{}}})", bench_payload()); }
  ClosedLoop::Load posting(const LoopbackTarget& target, int connections) const {
    return {.port = target.port,
            .connections = connections,
            .request = http_request(target, "POST", "/v1/tenants/default/jobs", new_job()),
            .status = 201};
  }
  // A call that is read and admitted as the other one is, with the same body, and then refused by a constant answer on
  // the net thread: this server does not rehearse.
  ClosedLoop::Load constant(const LoopbackTarget& target, int connections) const {
    return {.port = target.port,
            .connections = connections,
            .request = http_request(target, "POST", "/v1/clock", new_job()),
            .status = 409};
  }

  void single_posts() {
    tell(
        fmt::format("single jobs over {} connections, a constant answer, and a raw one, in turns", scale_.connections));
    const auto process = server("single");
    const LoopbackTarget& target = process->target();
    constexpr std::size_t kAnswerBytes = 900;  // about as long as that to a new job
    const RawAnswer raw_answer(kAnswerBytes);
    ClosedLoop posts(posting(target, scale_.connections));
    ClosedLoop constants(constant(target, scale_.connections));
    ClosedLoop raw({.port = raw_answer.port(),
                    .connections = scale_.connections,
                    .request = posting(target, 1).request,
                    .status = 200});
    Turns of_posts;
    Turns of_constants;
    std::vector<double> latencies;
    for (int pair = 0; pair <= scale_.pairs; ++pair) {
      const ClosedLoop::Found posted = posts.run(scale_.length);
      const double answered = constants.run(scale_.length).rate;
      const double bare = raw.run(scale_.length).rate;
      if (pair == 0) continue;  // warms all
      of_posts.add(posted.rate, answered);
      of_constants.add(answered, bare);
      latencies.insert(latencies.end(), posted.latencies.begin(), posted.latencies.end());
    }
    add_at_least(0.5, of_posts.figure("post_job", "1/s", "POST /v1/clock, refused by a constant answer"));
    figures_.push_back(of_constants.figure("constant_route", "1/s", "an epoll loop that sends the same bytes"));
    // A post waits for the commit under way and for its own.
    const double disk = overwrite();
    const auto latency = [&](const std::string& name, double value) {
      figures_.push_back({.name = name,
                          .ours = value,
                          .raw = disk,
                          .ratio = value / disk,
                          .unit = "us",
                          .raw_is = "overwrite of 4 KiB and fdatasync, median"});
    };
    latency("post_job_p50", median_of(latencies));
    latency("post_job_p99", percentile_of(latencies, 99));
  }

  // Microseconds.
  double overwrite() const {
    Overwrite write(folder_ + "/overwrite");
    std::vector<double> times;
    for (int i = 0; i < scale_.wakes; ++i) times.push_back(1e6 * seconds_of([&] { write(); }));
    return median_of(times);
  }

  void batches() {
    tell("batches of 1,000 jobs, and the store's own, in turns");
    const auto process = server("batch");
    const auto own = store("enqueue");
    StoreLoop loop(*own, bench_payload());
    Turns by_one;
    Turns by_four;
    for (int pair = 0; pair <= scale_.pairs; ++pair) {
      const double one = make_batches(process->target(), 1, scale_.batches);
      const double took = seconds_of([&] {
        for (int i = 0; i < scale_.batches; ++i) loop.enqueue(1000);
      });
      const double four = make_batches(process->target(), 4, scale_.batches);
      if (pair == 0) continue;
      const double raw = scale_.batches * 1000 / took;
      by_one.add(one, raw);
      by_four.add(four, raw);
    }
    const std::string raw_is = "the store alone, enqueue, batch 1,000";
    add_at_least(0.3, by_one.figure("post_batch_1000", "1/s", raw_is));
    add_at_least(0.3, by_four.figure("post_batch_1000_by_four", "1/s", raw_is));
  }

  void drains() {
    tell("two workers lease and settle 100 at a time, and the store's own life cycles, in turns");
    const auto process = server("drain");
    const auto own = store("cycles");
    StoreLoop loop(*own, bench_payload());
    Turns whole;
    Turns without_enqueue;
    constexpr int kAtOnce = 100;
    for (int pair = 0; pair <= scale_.pairs; ++pair) {
      fill(process->target(), scale_.drained);
      const double rate = drain(process->target(), {.workers = 2, .at_once = kAtOnce}, scale_.drained);
      double enqueued = 0;
      double ended = 0;
      for (int done = 0; done < scale_.drained; done += kAtOnce) {
        enqueued += seconds_of([&] { loop.enqueue(kAtOnce); });
        ended += seconds_of([&] {
          loop.claim(kAtOnce);
          loop.settle();
        });
      }
      if (pair == 0) continue;
      whole.add(rate, scale_.drained / (enqueued + ended));
      without_enqueue.add(rate, scale_.drained / ended);
    }
    add_at_least(0.4, whole.figure("drain_by_two_workers", "1/s", "the store alone, life cycles, batch 100"));
    figures_.push_back(
        without_enqueue.figure("drain_beside_claim_and_settle", "1/s", "the store alone, claim and settle, batch 100"));
  }

  void parked_polls() {
    tell(fmt::format("{} parked long polls", scale_.parked));
    const auto process = server("parked");
    const std::int64_t before = process->resident_bytes();
    ParkedPolls polls(process->target(), scale_.parked);
    const double grown = static_cast<double>(process->resident_bytes() - before) / kMegabyte;
    std::vector<double> after_sending;
    std::vector<double> after_answer;
    for (int i = 0; i < scale_.wakes; ++i) {
      std::this_thread::sleep_for(milliseconds(2));
      const ParkedPolls::Woken woken = polls.wake_one();
      after_sending.push_back(woken.after_sending);
      after_answer.push_back(woken.after_answer);
    }
    CHECK(polls.answered() == scale_.wakes);  // one new job wakes one
    add_below(100, "parked_polls_memory", grown, "MB");
    add_below(10, "wake_p50", median_of(after_sending), "ms");
    add_below(10, "wake_p99", percentile_of(after_sending, 99), "ms");
    add_below(10, "wake_after_answer_p99", percentile_of(after_answer, 99), "ms");
  }

  void slow_clients() {
    tell(fmt::format("others beside {} clients that send a byte a second, and without these, in turns", scale_.slow));
    const auto process = server("slow");
    ClosedLoop posts(posting(process->target(), scale_.others));
    ClosedLoop constants(constant(process->target(), scale_.others));
    const auto p99 = [&](ClosedLoop& loop) { return percentile_of(loop.run(scale_.length).latencies, 99); };
    Turns of_posts;
    Turns of_constants;
    for (int pair = 0; pair <= scale_.pairs; ++pair) {
      const double post_without = p99(posts);
      const double constant_without = p99(constants);
      const SlowClients slow(process->target(), scale_.slow);
      const double post_with = p99(posts);
      const double constant_with = p99(constants);
      if (pair == 0) continue;
      of_posts.add(post_with, post_without);
      of_constants.add(constant_with, constant_without);
    }
    add_at_most(2, of_posts.figure("post_job_p99_beside_slow", "us", "the same without slow clients"));
    add_at_most(2, of_constants.figure("constant_p99_beside_slow", "us", "the same without slow clients"));
  }

  const std::string folder_;
  const Scale scale_;
  std::vector<BenchFigure> figures_;
};

}  // namespace

Result<std::string> run_bench_server(const BenchRequest& request) {
  TRY(check_folder(request.folder));
  daemon::raise_open_files();
  const ScratchFolder folder(std::filesystem::absolute(request.folder).string());
  const std::vector<BenchFigure> figures = ServerBench(folder.path(), request.quick ? quick_scale() : Scale{}).run();
  return request.json ? bench_json(figures) : bench_table(figures);
}

}  // namespace carillon
