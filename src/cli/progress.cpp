#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace carillon {

std::string progress_line(const std::string& what, const Progress& progress) {
  if (progress.total <= 0) return fmt::format("{}  {}", what, progress.done);
  constexpr std::size_t kBar = 30;
  const double share = std::clamp(static_cast<double>(progress.done) / static_cast<double>(progress.total), 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kBar));
  return fmt::format("{}  [{}{}]  {} %  {}/{}", what, std::string(filled, '#'), std::string(kBar - filled, '-'),
                     static_cast<int>(share * 100), progress.done, progress.total);
}

ProgressBar::ProgressBar(std::string what) : what_(std::move(what)), is_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::show(const Progress& progress) {
  if (!is_terminal_) return;
  fmt::print(stderr, "\r\033[K{}", progress_line(what_, progress));
  std::fflush(stderr);
  is_shown_ = true;
}

void ProgressBar::clear() {
  if (!is_shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  is_shown_ = false;
}

}  // namespace carillon
