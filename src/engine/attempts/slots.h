// The slots of a node: how many of its attempts run at once, whichever runner has them.
//
// Claims may run ahead of them, so they are counted where attempts start: a slot is taken right before a handler is
// entered and is free again when it has returned. No run begins without one. (invariant 6)
//
//   auto slot = slots.take(me);              // nothing: all are taken, and the next free one is offered to me
//   if (slot && run->begin(*std::move(slot))) ...
//
// Runners that wait take turns: each is offered one slot before any of them is offered a second.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace carillon {

class Slots {
 public:
  explicit Slots(std::size_t most) : most_(static_cast<std::int64_t>(most)) {}
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  ~Slots() = default;

  // The right to run one attempt. When it goes, the slot is free.
  class Slot {
   public:
    Slot(Slot&& other) noexcept : slots_(std::exchange(other.slots_, nullptr)) {}
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    Slot& operator=(Slot&&) = delete;
    ~Slot() {
      if (slots_ != nullptr) slots_->give_back();
    }
    // It stays taken until somebody calls `give_back`.
    Slots* keep() { return std::exchange(slots_, nullptr); }

   private:
    friend class Slots;
    explicit Slot(Slots* slots) : slots_(slots) {}
    Slots* slots_;
  };

  // A slot for one that has found none. Called on any thread, under no lock; it must not block. Whether it would take
  // another; if not, it asks again when it would.
  using Offer = std::function<bool(Slot)>;
  // The number of a runner. Before anything starts.
  std::size_t join(Offer offer);
  // It is offered none any more, and no offer is under way when this returns.
  void leave(std::size_t runner);

  // Calls nobody, so that it may be called under a lock.
  std::optional<Slot> take(std::size_t runner);
  // Without being offered one later.
  std::optional<Slot> take();
  void give_back();
  // So many there are from now on. Those that are taken beyond that stay taken.
  void set_most(std::size_t most);

 private:
  static constexpr std::size_t kRunnersMax = 8;

  bool try_take();
  void offer_free();
  std::optional<std::size_t> next_waiting();

  std::atomic<std::int64_t> taken_ = 0;
  std::atomic<std::int64_t> most_;
  std::atomic<std::uint32_t> waiting_ = 0;  // runners that found none, a bit each

  std::mutex mutex_;
  std::array<std::shared_ptr<const Offer>, kRunnersMax> offers_;
  std::array<std::uint32_t, kRunnersMax> offering_{};  // offers under way
  std::size_t runners_ = 0;
  std::size_t last_ = 0;  // whose turn it was
};

}  // namespace carillon
