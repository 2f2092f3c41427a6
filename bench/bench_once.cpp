#include "bench/benchmarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string_view>

#include "base/json_writer.h"
#include "bench/closed_loop.h"
#include "bench/idle_handlers.h"
#include "bench/lease_workers.h"
#include "bench/loopback_http.h"
#include "bench/measuring.h"
#include "bench/server_process.h"
#include "bench/store_loop.h"
#include "daemon/open_files.h"
#include "store/sqlite/sqlite_store.h"

namespace carillon {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWarming(500);
constexpr milliseconds kLength(2'500);
constexpr int kConnections = 64;
constexpr int kWarmingJobs = 5'000;
constexpr int kJobs = 40'000;
constexpr int kBatch = 1'000;

// Single jobs over many connections.
double post_job(const std::string& folder) {
  const ServerProcess process(folder);
  const LoopbackTarget& target = process.target();
  const std::string body = fmt::format(R"({{"type":"bench","payload":{}}})", bench_payload());
  LoopbackClient(target).post("/v1/tenants/default/jobs", body, 201);  // makes the tenant
  ClosedLoop posts({.port = target.port,
                    .connections = kConnections,
                    .request = http_request(target, "POST", "/v1/tenants/default/jobs", body),
                    .status = 201});
  posts.run(kWarming);
  return posts.run(kLength).rate;
}

// Two workers that lease and settle 100 at a time.
double drain_by(const std::string& folder, const LeaseWorkers& workers) {
  const ServerProcess process(folder);
  fill(process.target(), kWarmingJobs);
  drain(process.target(), workers, kWarmingJobs);
  fill(process.target(), kJobs);
  return drain(process.target(), workers, kJobs);
}

double drain_jobs(const std::string& folder) { return drain_by(folder, {}); }

// What most workers look at.
double drain_fields(const std::string& folder) {
  return drain_by(folder,
                  {.fields = R"(["id","tenant","queue","type","payload","priority","state","schedule","subject",)"
                             R"("slot","run_at","deadline","attempt","token","lease_until","timeout","trigger"])"});
}

double lifecycle_engine(const std::string& folder) {
  IdleHandlers engine(folder + "/engine.db");
  engine.life_cycles(kWarmingJobs);
  return engine.life_cycles(2 * kJobs);
}

double lifecycle_batch_1000(const std::string& folder) {
  auto store = open_sqlite({.path = folder + "/store.db"});
  must(store);
  StoreLoop loop(**store, bench_payload());
  const auto cycles = [&](int count) {
    for (int done = 0; done < count; done += kBatch) {
      loop.enqueue(kBatch);
      loop.claim(kBatch);
      loop.settle();
    }
  };
  cycles(kWarmingJobs);
  return 3 * kJobs / seconds_of([&] { cycles(3 * kJobs); });
}

struct Measurement {
  std::string_view name;
  double (*run)(const std::string& folder);  // a rate: more is better
};

constexpr std::array kMeasurements{
    Measurement{.name = "post_job", .run = post_job},
    Measurement{.name = "drain", .run = drain_jobs},
    Measurement{.name = "drain_fields", .run = drain_fields},
    Measurement{.name = "lifecycle_engine", .run = lifecycle_engine},
    Measurement{.name = "lifecycle_batch_1000", .run = lifecycle_batch_1000},
};

bool is_known(std::string_view name) {
  return std::ranges::any_of(kMeasurements, [&](const Measurement& one) { return one.name == name; });
}

std::string known_names() {
  std::string names;
  for (const Measurement& one : kMeasurements) names.append(names.empty() ? "" : ", ").append(one.name);
  return names;
}

}  // namespace

Result<std::string> run_bench_once(const BenchOnceRequest& request) {
  TRY(check_folder(request.folder));
  for (const std::string& name : request.names) {
    if (is_known(name)) continue;
    return invalid_request(
        fmt::format("there is no measurement {}; there are {}", carillon::quoted(name), known_names()));
  }
  daemon::raise_open_files();
  JsonObject rates;
  for (const Measurement& one : kMeasurements) {
    const auto is_it = [&](const std::string& name) { return one.name == name; };
    if (!request.names.empty() && std::ranges::none_of(request.names, is_it)) continue;
    const ScratchFolder folder(std::filesystem::absolute(request.folder).string());
    rates.raw(one.name, fmt::format("{:.1f}", one.run(folder.path())));
  }
  return JsonObject().raw("rates", rates.str()).str() + "\n";
}

}  // namespace carillon
