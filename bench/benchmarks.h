// The benchmarks, one file each. Each measures ours beside the raw limit in the same run, prints its progress on
// standard error, and returns what is to be printed.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace carillon {

struct BenchRequest {
  std::string folder = ".";  // where the files are made, and removed afterwards
  bool quick = false;        // small counts, to see that it runs
  bool json = false;         // or a table
};

// What the store does per second, beside what SQLite itself does.
Result<std::string> run_bench_store(const BenchRequest& request);
// What the library does with handlers that do nothing.
Result<std::string> run_bench_engine(const BenchRequest& request);
// What planning costs with millions of subjects, beside the same rows written by hand.
Result<std::string> run_bench_schedules(const BenchRequest& request);
// What `carillon serve` does over HTTP on loopback.
Result<std::string> run_bench_server(const BenchRequest& request);
// How long `next` takes for common rules, and an answer to hostile ones. It needs no files, and has one size.
Result<std::string> run_bench_triggers(const BenchRequest& request);

struct BenchOnceRequest {
  std::vector<std::string> names;  // none: all
  std::string folder = ".";
};
// One short measurement of each, for two builds that are run in turns (`./dev bench against`). JSON: a rate per name.
Result<std::string> run_bench_once(const BenchOnceRequest& request);

}  // namespace carillon
