// A value that is read by many threads and now and then replaced as a whole.
//
//   Replaceable<AddressGuard> guard;
//   guard.get()->refusal(target);          // the value as it stands; it stays what it is for as long as it is held
//   guard.set(AddressGuard());             // whoever asks from now on gets this one
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace carillon {

template <typename T>
class Replaceable {
 public:
  Replaceable() : Replaceable(T()) {}
  explicit Replaceable(T value) : value_(std::make_shared<const T>(std::move(value))) {}
  Replaceable(const Replaceable&) = delete;
  Replaceable& operator=(const Replaceable&) = delete;
  ~Replaceable() = default;

  // Any thread.
  std::shared_ptr<const T> get() const {
    const std::scoped_lock lock(mutex_);
    return value_;
  }
  void set(T value) {
    auto next = std::make_shared<const T>(std::move(value));
    const std::scoped_lock lock(mutex_);
    value_.swap(next);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;
};

}  // namespace carillon
