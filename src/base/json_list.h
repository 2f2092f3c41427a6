// The items of an array, or the members of an object: made once, of exactly the size that they have. A pointer when
// there are none, because most values of a text have none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "base/check.h"

namespace carillon {

template <typename T>
class JsonList {  // NOLINT(cppcoreguidelines-special-member-functions): one assignment takes both
 public:
  JsonList() = default;
  // Takes them out of `from`.
  explicit JsonList(std::span<T> from) {
    if (from.empty()) return;
    held_ = make(from.size());
    std::uninitialized_move(from.begin(), from.end(), first(held_));
  }
  JsonList(const JsonList& other) {
    if (other.empty()) return;
    held_ = make(other.size());
    std::uninitialized_copy(other.begin(), other.end(), first(held_));
  }
  JsonList(JsonList&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  JsonList& operator=(JsonList other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~JsonList() {
    if (held_ == nullptr) return;
    std::destroy_n(first(held_), held_->size);
    ::operator delete(held_);
  }

  std::size_t size() const { return held_ == nullptr ? 0 : held_->size; }
  bool empty() const { return held_ == nullptr; }
  const T* begin() const { return held_ == nullptr ? nullptr : first(held_); }
  const T* end() const { return begin() + size(); }
  const T& operator[](std::size_t index) const {
    CHECK(index < size());
    return first(held_)[index];
  }
  const T& front() const { return (*this)[0]; }

  // What a list of so many takes.
  static std::size_t bytes(std::size_t size) { return size == 0 ? 0 : sizeof(Head) + size * sizeof(T); }

 private:
  struct Head {
    std::size_t size;
  };

  static Head* make(std::size_t size) {
    static_assert(alignof(T) <= alignof(Head));
    auto* const head = static_cast<Head*>(::operator new(bytes(size)));
    return std::construct_at(head, size);
  }
  static T* first(Head* head) { return reinterpret_cast<T*>(head + 1); }  // NOLINT: they stand behind their number

  Head* held_ = nullptr;
};

}  // namespace carillon
