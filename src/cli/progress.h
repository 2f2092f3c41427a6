// A bar on standard error that shows how far something is; nothing at all where that is not a terminal.
#pragma once

#include <cstdint>
#include <string>

namespace carillon {

struct Progress {
  std::int64_t done = 0;
  std::int64_t total = 0;  // 0: not known
};

// `cancel  [#########---------]  50 %  500/1000`
std::string progress_line(const std::string& what, const Progress& progress);

class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  void show(const Progress& progress);
  void clear();

 private:
  std::string what_;
  bool is_terminal_;
  bool is_shown_ = false;
};

}  // namespace carillon
