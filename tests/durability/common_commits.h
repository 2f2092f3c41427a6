// Writes of many threads in common transactions, as the rounds of an engine have them: who comes while one is written
// waits, and goes into the next with all who wait. A write that is refused fails alone; if the commit fails, so does
// every write in it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "durability/load.h"

namespace carillon::test {

class CommonCommits {
 public:
  explicit CommonCommits(Store& store) : store_(store) {}
  CommonCommits(const CommonCommits&) = delete;
  CommonCommits& operator=(const CommonCommits&) = delete;
  ~CommonCommits() = default;

  // Returns after the commit.
  Result<void> write(const Work& work);

 private:
  struct Write {
    const Work* work = nullptr;
    std::optional<Result<void>> answer;
  };

  Store& store_;
  std::mutex mutex_;
  std::condition_variable written_;
  std::vector<Write*> waiting_;
  bool is_writing_ = false;
};

}  // namespace carillon::test
