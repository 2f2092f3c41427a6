// `carillon bench server`: what `carillon serve` does over HTTP on loopback, beside its limits in the same run.
#pragma once

#include <string>

#include "base/error.h"

namespace carillon {

struct BenchServerRequest {
  std::string folder = ".";  // where the files are made, and removed afterwards
  bool quick = false;        // small counts, to see that it runs
  bool json = false;
};

// The table or JSON. Progress goes to standard error.
Result<std::string> run_bench_server(const BenchServerRequest& request);

}  // namespace carillon
