// Figures of a benchmark, each beside its raw limit.
#pragma once

#include <string>
#include <vector>

namespace carillon {

struct BenchFigure {
  std::string name;
  double ours = 0;
  double raw = 0;
  double ratio = 0;    // of rounds in turns, the median
  std::string unit;    // of ours and raw
  std::string raw_is;  // what raw is
  std::string goal;    // "ratio >= 0.7"; "" if there is none
  bool reached = true;
};

std::string bench_table(const std::vector<BenchFigure>& figures);
std::string bench_json(const std::vector<BenchFigure>& figures);

double median_of(std::vector<double> values);
// The smallest value that `percent` of all do not exceed.
double percentile_of(std::vector<double> values, int percent);

}  // namespace carillon
