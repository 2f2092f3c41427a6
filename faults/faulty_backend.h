// A store that fails on purpose: a backend around another one, whose commits go wrong as a test asks.
//
//   FaultyCommits commits;
//   auto store = make_store(make_faulty(make_memory_backend(clock), commits), clock);
//   commits.next(CommitFault::answer_lost);
//   store->jobs().enqueue(jobs);   // `unavailable`, and yet stored
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "store/backend.h"

namespace carillon {

enum class CommitFault : std::uint8_t {
  none,
  unavailable,  // not reached: nothing is stored
  conflict,     // another writer was first: nothing is stored
  full,         // no space: nothing is stored
  answer_lost,  // stored, but the answer is `unavailable`
};

// What happens to the commits that follow. Any thread may say; a commit of nothing but reads counts too.
class FaultyCommits {
 public:
  // After those said before.
  void next(CommitFault fault);
  // Asked at each commit for which nothing was said. Called by the store's thread.
  void decide_by(std::function<CommitFault()> decide);

  CommitFault take();
  std::uint64_t injected() const;

 private:
  mutable std::mutex mutex_;
  std::deque<CommitFault> said_;
  std::function<CommitFault()> decide_;
  std::uint64_t injected_ = 0;
};

// `commits` must outlive the backend.
std::unique_ptr<Backend> make_faulty(std::unique_ptr<Backend> backend, FaultyCommits& commits);

}  // namespace carillon
