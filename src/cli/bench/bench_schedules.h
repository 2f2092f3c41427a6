// `carillon bench schedules`: what planning costs with subjects by the million, beside the same rows written by hand.
#pragma once

#include <string>

#include "base/error.h"

namespace carillon {

struct BenchSchedulesRequest {
  std::string folder = ".";  // where the files are made, and removed afterwards
  bool quick = false;        // small counts, to see that it runs
  bool json = false;
};

// The table or JSON. Progress goes to standard error.
Result<std::string> run_bench_schedules(const BenchSchedulesRequest& request);

}  // namespace carillon
