// Workers that lease jobs over HTTP and settle them, many at a time, until there are none left.
#pragma once

#include <string_view>

#include "bench/loopback_http.h"

namespace carillon {

struct LeaseWorkers {
  int workers = 2;
  int at_once = 100;
  std::string_view fields;  // a JSON list of those that they ask for; "": all
};

// Makes so many jobs, in batches of 1,000.
void fill(const LoopbackTarget& target, int count);

// Drains what `fill` has made: jobs per second, each worker in its own thread. Any other number of jobs that were
// done ends the benchmark.
double drain(const LoopbackTarget& target, const LeaseWorkers& workers, int count);

// Jobs per second, made in batches of 1,000 by so many clients at once.
double make_batches(const LoopbackTarget& target, int clients, int batches);

}  // namespace carillon
