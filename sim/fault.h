// What can go wrong, and how often it did.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace carillon::sim {

enum class Fault : std::uint8_t {
  crash,
  crash_at_commit,
  power_loss,
  power_loss_at_commit,
  drain,
  pause,
  slow_disk,
  refused_commit,
  lost_answer,
  disk_full,
  clock_jump,
  schedule_edit,
  schedule_pause,
  schedule_resume,
  schedule_delete,
  schedule_create,
  rule_change,
  operator_word,
  bulk_retry,
  stale_word,
  hopeless_request,
  subject_word,
};

inline constexpr std::array<std::string_view, 22> kFaultNames{"crash",
                                                              "crash_at_commit",
                                                              "power_loss",
                                                              "power_loss_at_commit",
                                                              "drain",
                                                              "pause",
                                                              "slow_disk",
                                                              "refused_commit",
                                                              "lost_answer",
                                                              "disk_full",
                                                              "clock_jump",
                                                              "schedule_edit",
                                                              "schedule_pause",
                                                              "schedule_resume",
                                                              "schedule_delete",
                                                              "schedule_create",
                                                              "rule_change",
                                                              "operator_word",
                                                              "bulk_retry",
                                                              "stale_word",
                                                              "hopeless_request",
                                                              "subject_word"};

class FaultCounts {
 public:
  void add(Fault fault) { ++counts_[static_cast<std::size_t>(fault)]; }
  void add(const FaultCounts& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }
  const std::array<std::uint64_t, kFaultNames.size()>& all() const { return counts_; }

 private:
  std::array<std::uint64_t, kFaultNames.size()> counts_{};
};

}  // namespace carillon::sim
