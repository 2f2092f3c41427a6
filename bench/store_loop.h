// Whole life cycles through the store, oldest jobs first, as a ready set in memory would do it.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "store/store.h"

namespace carillon {

class StoreLoop {
 public:
  StoreLoop(Store& store, std::string payload) : store_(store), payload_(std::move(payload)) {}
  StoreLoop(const StoreLoop&) = delete;
  StoreLoop& operator=(const StoreLoop&) = delete;
  ~StoreLoop() = default;

  // Each one transaction.
  void enqueue(int count);
  void claim(int count);
  void settle();

 private:
  Store& store_;
  std::string payload_;
  std::vector<NewJob> jobs_;
  std::deque<JobId> ready_;
  std::vector<LeasedJob> leased_;
};

}  // namespace carillon
