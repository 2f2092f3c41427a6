#include "durability/common_commits.h"

#include <utility>

namespace carillon::test {

Result<void> CommonCommits::write(const Work& work) {
  Write mine{.work = &work, .answer = {}};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&mine);
  while (!mine.answer) {
    if (is_writing_) {
      written_.wait(lock);
      continue;
    }
    is_writing_ = true;
    const std::vector<Write*> batch = std::exchange(waiting_, {});
    lock.unlock();
    std::vector<Result<void>> answers(batch.size());
    const Result<void> committed = store_.atomically([&] {
      for (std::size_t i = 0; i < batch.size(); ++i) answers[i] = (*batch[i]->work)(store_);
    });
    lock.lock();
    for (std::size_t i = 0; i < batch.size(); ++i) batch[i]->answer = committed ? std::move(answers[i]) : committed;
    is_writing_ = false;
    written_.notify_all();
  }
  return *std::move(mine.answer);
}

}  // namespace carillon::test
