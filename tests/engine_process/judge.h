// What workers wrote down, held against what is in the store in the end, when all of it has run.
//
// Lost: a job that was acknowledged and is not there or not done (invariants 4, 5). Wrong: a job that ran after the
// engine said that it was done (invariant 2), twice in one process, or done without having run. Late: one that a kill
// interrupted and that a process, which lived long enough, took up later than it must (invariant 12).
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "engine_process/line_file.h"

namespace carillon::test {

struct ListedJob {
  std::string state;
  long attempts = 0;
  long id = 0;
};
using ListedJobs = std::map<long, ListedJob>;  // by number

// The output of `engine_worker list`.
ListedJobs read_listed(const std::string& text);

struct Judgement {
  std::vector<std::string> violations;
  std::size_t acknowledged = 0;
  std::size_t runs = 0;
  std::size_t repeated = 0;             // runs of a job that had run before
  std::chrono::milliseconds slowest{};  // from a start of the program to the repeated run
};

Judgement judge(const std::vector<Line>& lines, const ListedJobs& found, std::chrono::milliseconds again_within);

}  // namespace carillon::test
