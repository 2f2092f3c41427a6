#include "engine/ready/ready_line_set.h"

#include "base/check.h"

namespace carillon {

namespace {

constexpr std::array kChoices{ReadyChoice::first, ReadyChoice::oldest};

bool goes_before(ReadyChoice choice, const ReadyLine& a, const ReadyLine& b) {
  return choice == ReadyChoice::first ? a.first() < b.first() : a.oldest() < b.oldest();
}

}  // namespace

void ReadyLineSet::put(ReadyChoice choice, std::size_t position, ReadyLine& line) {
  const auto index = static_cast<std::size_t>(choice);
  heaps_[index][position] = &line;
  line.positions[index] = static_cast<std::uint32_t>(position);
  ++*steps_;
}

void ReadyLineSet::sift_up(ReadyChoice choice, std::size_t position) {
  auto& heap = heaps_[static_cast<std::size_t>(choice)];
  ReadyLine& line = *heap[position];
  while (position > 0) {
    const std::size_t above = (position - 1) / 2;
    if (!goes_before(choice, line, *heap[above])) break;
    put(choice, position, *heap[above]);
    position = above;
  }
  put(choice, position, line);
}

void ReadyLineSet::sift_down(ReadyChoice choice, std::size_t position) {
  auto& heap = heaps_[static_cast<std::size_t>(choice)];
  ReadyLine& line = *heap[position];
  for (;;) {
    std::size_t below = (2 * position) + 1;
    if (below >= heap.size()) break;
    if (below + 1 < heap.size() && goes_before(choice, *heap[below + 1], *heap[below])) ++below;
    if (!goes_before(choice, *heap[below], line)) break;
    put(choice, position, *heap[below]);
    position = below;
  }
  put(choice, position, line);
}

void ReadyLineSet::insert(ReadyLine& line) {
  for (const ReadyChoice choice : kChoices) {
    auto& heap = heaps_[static_cast<std::size_t>(choice)];
    heap.push_back(&line);
    sift_up(choice, heap.size() - 1);
  }
}

void ReadyLineSet::erase(ReadyLine& line) {
  for (const ReadyChoice choice : kChoices) {
    auto& heap = heaps_[static_cast<std::size_t>(choice)];
    const std::size_t position = line.positions[static_cast<std::size_t>(choice)];
    CHECK(position < heap.size() && heap[position] == &line);
    ReadyLine* const last = heap.back();
    heap.pop_back();
    if (last == &line) continue;
    put(choice, position, *last);
    sift_up(choice, position);
    sift_down(choice, last->positions[static_cast<std::size_t>(choice)]);
  }
}

void ReadyLineSet::update(ReadyLine& line) {
  for (const ReadyChoice choice : kChoices) {
    const auto index = static_cast<std::size_t>(choice);
    CHECK(line.positions[index] < heaps_[index].size() && heaps_[index][line.positions[index]] == &line);
    sift_up(choice, line.positions[index]);
    sift_down(choice, line.positions[index]);
  }
}

}  // namespace carillon
