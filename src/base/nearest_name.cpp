#include "base/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace carillon {

namespace {

// Longer ones are no slips, and comparing them costs.
constexpr std::size_t kNameBytesMax = 100;
constexpr std::size_t kShortNameChanges = 2;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

}  // namespace

NearestName::NearestName(std::string_view written) : written_(written) {
  if (written.empty() || written.size() > kNameBytesMax) return;
  distance_max_ = std::min(std::max(kShortNameChanges, written.size() / 3) + 1, written.size());
}

void NearestName::look_at(std::string_view known) {
  if (distance_max_ == 0 || known.size() > kNameBytesMax) return;
  const std::size_t distance = edit_distance(written_, known);
  if (distance >= distance_max_) return;
  distance_max_ = distance;
  found_ = known;
}

std::string did_you_mean(const std::string& name) {
  return name.empty() ? std::string() : " (did you mean " + name + "?)";
}

}  // namespace carillon
