// `carillon bench store`: what the store does in a second, beside what SQLite itself does in the same run.
#pragma once

#include <string>

#include "base/error.h"

namespace carillon {

struct BenchStoreRequest {
  std::string folder = ".";  // where the files are made, and removed afterwards
  bool quick = false;        // small counts, to see that it runs
  bool json = false;
};

// The table or JSON. Progress goes to standard error.
Result<std::string> run_bench_store(const BenchStoreRequest& request);

}  // namespace carillon
