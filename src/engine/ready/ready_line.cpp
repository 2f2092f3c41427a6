#include "engine/ready/ready_line.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace carillon {

namespace {

constexpr std::size_t kShrinkAbove = 1024;

// A line that was long once must not keep its memory for ever.
template <typename T>
void shrink(std::vector<T>& items) {
  if (items.capacity() <= kShrinkAbove || items.size() > items.capacity() / 4) return;
  std::vector<T> smaller;
  smaller.reserve(items.size() * 2);
  smaller.assign(items.begin(), items.end());
  items.swap(smaller);
}

}  // namespace

namespace {

ReadyEntry entry_at(const ReadyLine::Age& age, std::size_t index) {
  return {.id = age.id, .run_at = age.run_at, .priority = static_cast<std::uint8_t>(index + kPriorityMin)};
}

}  // namespace

void ReadyLine::add(const ReadyEntry& entry) {
  const int priority = std::clamp<int>(entry.priority, kPriorityMin, kPriorityMax);
  std::vector<Age>& heap = heaps_[static_cast<std::size_t>(priority - kPriorityMin)];
  heap.push_back({.run_at = entry.run_at, .id = entry.id});
  std::ranges::push_heap(heap, std::greater());
  ++size_;
  look();
}

ReadyEntry ReadyLine::pop(ReadyChoice choice) {
  CHECK(size_ > 0);
  const std::size_t index = choice == ReadyChoice::first ? first_.priority : oldest_.priority;
  std::vector<Age>& heap = heaps_[index];
  std::ranges::pop_heap(heap, std::greater());
  const Age taken = heap.back();
  heap.pop_back();
  shrink(heap);
  --size_;
  look();
  return entry_at(taken, index);
}

std::size_t ReadyLine::count_if(const Which& is_meant) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kPriorities; ++i) {
    for (const Age& age : heaps_[i]) count += is_meant(entry_at(age, i)) ? 1U : 0U;
  }
  return count;
}

std::vector<ReadyEntry> ReadyLine::take_if(const Which& goes) {
  std::vector<ReadyEntry> taken;
  for (std::size_t i = 0; i < kPriorities; ++i) {
    const std::size_t before = taken.size();
    std::erase_if(heaps_[i], [&](const Age& age) {
      const ReadyEntry entry = entry_at(age, i);
      if (!goes(entry)) return false;
      taken.push_back(entry);
      return true;
    });
    if (taken.size() == before) continue;
    std::ranges::make_heap(heaps_[i], std::greater());
    shrink(heaps_[i]);
  }
  size_ -= taken.size();
  look();
  return taken;
}

std::vector<ReadyEntry> ReadyLine::entries() const {
  std::vector<ReadyEntry> all;
  all.reserve(size_);
  for (std::size_t i = 0; i < kPriorities; ++i) {
    for (const Age& age : heaps_[i]) {
      all.push_back({.id = age.id, .run_at = age.run_at, .priority = static_cast<std::uint8_t>(i + kPriorityMin)});
    }
  }
  return all;
}

void ReadyLine::look() {
  bool found = false;
  for (std::size_t i = 0; i < kPriorities; ++i) {
    if (heaps_[i].empty()) continue;
    const Rank head{.priority = i, .age = heaps_[i].front()};
    if (!found) first_ = head;
    if (!found || head.age < oldest_.age) oldest_ = head;
    found = true;
  }
}

}  // namespace carillon
