// Lines that compete: which holds the first job, and which the oldest. Two heaps that know where each line is, so that
// a line whose head has changed, or that leaves, costs a logarithm.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/ready/ready_line.h"

namespace carillon {

class ReadyLineSet {
 public:
  // Every move inside of a heap is counted there.
  explicit ReadyLineSet(std::uint64_t* steps) : steps_(steps) {}

  bool empty() const { return heaps_[0].empty(); }
  // The line has jobs and stands in no set.
  void insert(ReadyLine& line);
  // The line stands in this set.
  void erase(ReadyLine& line);
  // The same; its head may have changed, and it has jobs.
  void update(ReadyLine& line);
  // There is one.
  ReadyLine& best(ReadyChoice choice) const { return *heaps_[static_cast<std::size_t>(choice)].front(); }

 private:
  void put(ReadyChoice choice, std::size_t position, ReadyLine& line);
  void sift_up(ReadyChoice choice, std::size_t position);
  void sift_down(ReadyChoice choice, std::size_t position);

  std::uint64_t* steps_;
  std::array<std::vector<ReadyLine*>, 2> heaps_;  // by ReadyChoice
};

}  // namespace carillon
