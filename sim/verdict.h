// Who says what is wrong: the first violation ends a simulation.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "core/jobs/job_id.h"
#include "core/time/instant.h"

namespace carillon::sim {

// Written out only when somebody reads it.
struct Shown {
  JobId id;
};
struct ShownTime {
  Instant at;
};

}  // namespace carillon::sim

template <>
struct fmt::formatter<carillon::sim::Shown> : fmt::formatter<std::string> {
  auto format(const carillon::sim::Shown& shown, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(carillon::format_job_id(shown.id), context);
  }
};
template <>
struct fmt::formatter<carillon::sim::ShownTime> : fmt::formatter<std::string> {
  auto format(const carillon::sim::ShownTime& shown, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(carillon::format_instant(shown.at), context);
  }
};

namespace carillon::sim {

struct Violation {
  int invariant = 0;
  std::string what;
};

class Findings {
 public:
  bool any() const { return first_.has_value(); }
  const std::optional<Violation>& first() const { return first_; }

  template <typename... Args>
  void add(int invariant, fmt::format_string<Args...> format, Args&&... args) {
    if (first_) return;
    first_ = Violation{.invariant = invariant, .what = fmt::format(format, std::forward<Args>(args)...)};
  }
  // True if all is well.
  template <typename... Args>
  bool expect(bool holds, int invariant, fmt::format_string<Args...> format, Args&&... args) {
    if (!holds) add(invariant, format, std::forward<Args>(args)...);
    return holds;
  }

 private:
  std::optional<Violation> first_;
};

}  // namespace carillon::sim
