// One attempt from its claim to its settlement, shared by the node that leased it and the thread that runs it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/jobs/job.h"
#include "engine/attempts/slots.h"
#include "engine/ready/ready_set.h"
#include "store/job_store.h"

namespace carillon {

struct Run {
  // A claimed one is either started by its runner or withdrawn by its node: whoever moves the phase first.
  enum class Phase : std::uint8_t { claimed, started, returned, withdrawn };

  // Constant once it was handed to a runner.
  LeasedJob job;
  PlaceId place;
  bool notifies = false;
  bool outside = false;  // its runner waits for somebody outside, and no thread of ours
  bool pulled = false;   // by a worker outside: no thread here runs it, and its holder renews its lease

  // Either side.
  std::atomic<Phase> phase = Phase::claimed;
  std::atomic<bool> stop_requested = false;
  std::atomic<BootTime> lease_until;  // by our own boot clock, from before the claim or extension was sent
  std::atomic<BootTime> started_boot;
  std::atomic<Instant> started_at;

  // Only the node.
  BootTime claimed_boot{};
  BootTime beat_at{};         // when to renew the lease
  BootTime timeout_from{};    // from when the store counts the timeout
  bool holds_caps = true;     // counted by the ready set
  bool over = false;          // its attempt has ended; only its thread has not
  bool ending = false;        // how it ended is about to be written
  bool rested_limit = false;  // its limit rests because it said so

  // False: its node has taken it back. It keeps the slot until `has_returned`.
  bool begin(Slots::Slot slot) {
    Phase expected = Phase::claimed;
    if (!phase.compare_exchange_strong(expected, Phase::started)) return false;
    slots_ = slot.keep();
    return true;
  }
  // Its handler has returned: the slot is free.
  void has_returned() {
    Phase expected = Phase::started;
    if (phase.compare_exchange_strong(expected, Phase::returned) && slots_ != nullptr) slots_->give_back();
  }
  bool is_running() const { return phase == Phase::started; }
  bool withdraw() {
    Phase expected = Phase::claimed;
    return phase.compare_exchange_strong(expected, Phase::withdrawn);
  }

  void set_progress(std::string text) {
    const std::scoped_lock lock(progress_mutex_);
    progress_ = std::move(text);
  }
  std::optional<std::string> take_progress() {
    const std::scoped_lock lock(progress_mutex_);
    return std::exchange(progress_, std::nullopt);
  }

  // It was not stored after all. What came meanwhile is newer.
  void give_back_progress(std::string text) {
    const std::scoped_lock lock(progress_mutex_);
    if (!progress_) progress_ = std::move(text);
  }

 private:
  Slots* slots_ = nullptr;  // of whom it holds one
  std::mutex progress_mutex_;
  std::optional<std::string> progress_;
};

using RunPtr = std::shared_ptr<Run>;

}  // namespace carillon
