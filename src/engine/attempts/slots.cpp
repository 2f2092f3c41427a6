#include "engine/attempts/slots.h"

#include <thread>

#include "base/check.h"
#include "base/mutant.h"

namespace carillon {

namespace {

std::uint32_t bit_of(std::size_t runner) { return 1U << runner; }

}  // namespace

std::size_t Slots::join(Offer offer) {
  const std::scoped_lock lock(mutex_);
  CHECK(runners_ < kRunnersMax);
  offers_[runners_] = std::make_shared<const Offer>(std::move(offer));
  return runners_++;
}

void Slots::leave(std::size_t runner) {
  for (;;) {
    {
      const std::scoped_lock lock(mutex_);
      offers_[runner].reset();
      if (offering_[runner] == 0) return;
    }
    std::this_thread::yield();
  }
}

bool Slots::try_take() {
  std::int64_t taken = taken_.load();
  do {
    if (taken >= most_.load() && !mutant(Mutant::claims_ahead_start)) return false;
  } while (!taken_.compare_exchange_weak(taken, taken + 1));
  return true;
}

std::optional<Slots::Slot> Slots::take() {
  if (!try_take()) return std::nullopt;
  return Slot(this);
}

std::optional<Slots::Slot> Slots::take(std::size_t runner) {
  if (try_take()) return Slot(this);
  // Whoever frees a slot from now on sees it. One that was freed just before must not be missed.
  waiting_.fetch_or(bit_of(runner));
  return take();
}

void Slots::give_back() {
  taken_.fetch_sub(1);
  if (waiting_.load() != 0) offer_free();
}

void Slots::set_most(std::size_t most) {
  const auto count = static_cast<std::int64_t>(most);
  if (most_.exchange(count) < count && waiting_.load() != 0) offer_free();
}

std::optional<std::size_t> Slots::next_waiting() {
  const std::uint32_t waiting = waiting_.load();
  for (std::size_t i = 1; i <= runners_; ++i) {
    const std::size_t runner = (last_ + i) % runners_;
    if ((waiting & bit_of(runner)) != 0) return runner;
  }
  return std::nullopt;
}

void Slots::offer_free() {
  while (waiting_.load() != 0) {
    auto slot = take();
    if (!slot) return;
    std::shared_ptr<const Offer> offer;
    std::size_t runner = 0;
    {
      const std::scoped_lock lock(mutex_);
      const auto next = next_waiting();
      if (!next) {
        // Somebody else was faster. Its own end looks once more.
        slot->keep();
        taken_.fetch_sub(1);
        continue;
      }
      runner = last_ = *next;
      waiting_.fetch_and(~bit_of(runner));
      offer = offers_[runner];
      if (offer) ++offering_[runner];
    }
    if (!offer) continue;  // it has left; the slot goes back, and to the next one
    if ((*offer)(*std::move(slot))) waiting_.fetch_or(bit_of(runner));
    const std::scoped_lock lock(mutex_);
    --offering_[runner];
  }
}

}  // namespace carillon
