#include "bench/bench_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/json_writer.h"

namespace carillon {

double median_of(std::vector<double> values) {
  CHECK(!values.empty());
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double percentile_of(std::vector<double> values, int percent) {
  CHECK(!values.empty() && percent > 0 && percent <= 100);
  std::ranges::sort(values);
  const std::size_t rank = (values.size() * static_cast<std::size_t>(percent) + 99) / 100;
  return values[rank - 1];
}

std::string bench_table(const std::vector<BenchFigure>& figures) {
  std::string table =
      fmt::format("{:<46} {:>12} {:>12} {:>7}  {:<6} {}\n", "name", "ours", "raw", "ratio", "unit", "goal");
  for (const BenchFigure& figure : figures) {
    const std::string goal =
        figure.goal.empty() ? "" : fmt::format("{}: {}", figure.goal, figure.reached ? "yes" : "NO");
    table += fmt::format("{:<46} {:>12.2f} {:>12.2f} {:>7.2f}  {:<6} {}\n", figure.name, figure.ours, figure.raw,
                         figure.ratio, figure.unit, goal);
  }
  return table;
}

std::string bench_json(const std::vector<BenchFigure>& figures) {
  JsonArray results;
  for (const BenchFigure& figure : figures) {
    JsonObject object;
    object.text("name", figure.name).raw("ours", fmt::format("{:.3f}", figure.ours));
    object.raw("raw", fmt::format("{:.3f}", figure.raw)).raw("ratio", fmt::format("{:.4f}", figure.ratio));
    object.text("unit", figure.unit).text("raw_is", figure.raw_is);
    if (!figure.goal.empty()) object.text("goal", figure.goal).boolean("reached", figure.reached);
    results.raw(object.str());
  }
  return JsonObject().raw("results", results.str()).str() + "\n";
}

}  // namespace carillon
