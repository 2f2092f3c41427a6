// Every subject of a schedule due at once, on an engine with its own threads and the machine's clock, beside another
// schedule that goes on every second.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace carillon {

// Makes a file whose users are all due from this minute on.
void prepare_storm(const std::string& path, std::int64_t users);

struct Storm {
  double seconds = 0;   // until all of them were jobs
  double late_max = 0;  // of the other schedule's jobs meanwhile, in seconds
  std::uint64_t jobs_beside = 0;
  std::vector<double> planning_ms;  // of each round that planned some of them
};
// On a file that was prepared. The users' jobs stay queued.
Storm run_storm(const std::string& path, std::int64_t users);

}  // namespace carillon
