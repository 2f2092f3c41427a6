// How the commits of a node went. Only its driver writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/error.h"
#include "core/time/instant.h"

namespace carillon {

class Commits {
 public:
  void note_failed(const Error& error, BootTime boot) {
    if (failures_++ == 0) failing_since_ = boot;
    error_ = error;
  }
  struct Recovered {
    std::uint32_t failures = 0;
    Duration after{};
  };
  // Nothing: the one before had not failed.
  std::optional<Recovered> note_committed(BootTime boot) {
    at_ = boot;
    const std::uint32_t failures = std::exchange(failures_, 0);
    if (failures == 0) return std::nullopt;
    return Recovered{.failures = failures, .after = boot - failing_since_};
  }
  void note_took(Duration took) { took_ = took; }

  std::uint32_t failures_in_a_row() const { return failures_; }
  // Of the last one that failed.
  const Error& error() const { return error_; }
  // The last round that wrote: from its begin to the end of its commit.
  Duration took() const { return took_; }
  // Any thread. Nothing: none was.
  std::optional<BootTime> last_at() const {
    const BootTime at = at_;
    return at == BootTime::min() ? std::nullopt : std::optional(at);
  }

 private:
  std::uint32_t failures_ = 0;
  BootTime failing_since_{};
  Error error_;
  Duration took_{};
  std::atomic<BootTime> at_ = BootTime::min();
};

}  // namespace carillon
