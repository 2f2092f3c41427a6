// The one savepoint: around a use case that may have written before it refuses.
#pragma once

#include "store/cases/context.h"

namespace carillon {

// How far what a transaction tells of itself has come.
class ToldSoFar {
 public:
  explicit ToldSoFar(const Context& context)
      : finalized_(context.finalized.size()),
        parked_(context.parked.size()),
        ended_along_(context.ended_along.size()),
        left_queue_(context.left_queue.size()),
        deferred_along_(context.deferred_along.size()) {}

  // What was told since is as if it were never said.
  void take_back(Context& context) const {
    context.finalized.resize(finalized_);
    context.parked.resize(parked_);
    context.ended_along.resize(ended_along_);
    context.left_queue.resize(left_queue_);
    context.deferred_along.resize(deferred_along_);
  }

 private:
  std::size_t finalized_;
  std::size_t parked_;
  std::size_t ended_along_;
  std::size_t left_queue_;
  std::size_t deferred_along_;
};

// Runs a use case, and takes back what it has written if it refuses. Not one inside of another.
template <typename UseCase>
auto all_or_nothing(Context& context, UseCase use_case) {
  context.tx.savepoint();
  const ToldSoFar before(context);
  auto answer = use_case();
  if (!answer) {
    context.tx.roll_back_to_savepoint();
    before.take_back(context);
  }
  context.tx.release_savepoint();
  return answer;
}

}  // namespace carillon
