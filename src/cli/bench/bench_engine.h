// `carillon bench engine`: what the library does with handlers that do nothing, beside its limits in the same run.
#pragma once

#include <string>

#include "base/error.h"

namespace carillon {

struct BenchEngineRequest {
  std::string folder = ".";  // where the files are made, and removed afterwards
  bool quick = false;        // small counts, to see that it runs
  bool json = false;
};

// The table or JSON. Progress goes to standard error.
Result<std::string> run_bench_engine(const BenchEngineRequest& request);

}  // namespace carillon
