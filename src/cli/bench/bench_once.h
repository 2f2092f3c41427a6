// `carillon bench once NAME…`: one short measurement of each, for two builds that are run in turns (`./dev bench
// against`).
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace carillon {

struct BenchOnceRequest {
  std::vector<std::string> names;  // none: all
  std::string folder = ".";        // where the files are made, and removed afterwards
};

// JSON: a rate per name. Progress goes to standard error.
Result<std::string> run_bench_once(const BenchOnceRequest& request);

}  // namespace carillon
