// A file of lines that survive a kill: each is appended with one write and synced before the call returns. It carries
// the boot time in milliseconds, so that lines of several processes can be compared.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace carillon::test {

class LineFile {
 public:
  explicit LineFile(const std::string& path)
      : descriptor_(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {
    if (descriptor_ < 0) throw std::runtime_error("cannot open " + path);
  }
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  ~LineFile() { close(descriptor_); }

  // Any thread.
  void write(const std::string& what, long number, long more = 0) const {
    const std::string line = std::to_string(now_ms()) + ' ' + std::to_string(getpid()) + ' ' + what + ' ' +
                             std::to_string(number) + ' ' + std::to_string(more) + '\n';
    const bool written = ::write(descriptor_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    if (!written || fdatasync(descriptor_) != 0) std::abort();
  }

  static long now_ms() {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (now.tv_sec * 1000) + (now.tv_nsec / 1'000'000);
  }

 private:
  int descriptor_;
};

struct Line {
  long at_ms = 0;
  long process = 0;
  std::string what;
  long number = 0;
  long more = 0;
};

inline std::vector<Line> lines_of(const std::string& path) {
  std::vector<Line> lines;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    std::istringstream in(text);
    Line line;
    if (!(in >> line.at_ms >> line.process >> line.what >> line.number >> line.more)) {
      throw std::runtime_error("not a line of a ledger: " + text);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace carillon::test
