// Jobs of a schedule that is paused or disabled, or of such a subject, wait here, in memory, until it goes on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

class HeldJobs {
 public:
  HeldJobs() = default;
  HeldJobs(const HeldJobs&) = delete;
  HeldJobs& operator=(const HeldJobs&) = delete;
  ~HeldJobs() = default;

  void hold(const HeldJob& held);
  // One of them does not stand so any more.
  void left(const LeftQueue& left);
  // How many of them are due, those included that go on now: of all, or of one tenant.
  std::size_t count(Instant now, std::optional<std::string_view> tenant) const;

  // The schedule goes on, or one of its subjects does.
  void release(ScheduleId schedule, std::string_view subject);
  // The same after the commit.
  void release_subject(Round& round, ScheduleId schedule, std::string_view subject);
  // What is held by subjects: a claim holds again what is still to wait.
  void release_subjects();
  // Those that go on now. They stay in the memory whatever becomes of the round that takes them over.
  const std::vector<ReadyJob>& released() const { return released_; }
  void forget_released();
  // The schedule is deleted.
  void forget(ScheduleId schedule);

 private:
  using Key = std::pair<ScheduleId, std::string>;  // the subject that holds them; "": the schedule
  struct Held {
    std::string tenant;
    std::map<JobId, ReadyJob> jobs;  // one may be met twice after a commit that failed
  };
  // By tenant: of those that are held, and of those that go on.
  using Counts = std::map<std::string, std::size_t, std::less<>>;
  static void take(Counts& counts, const std::string& tenant, std::size_t count);

  std::map<Key, Held> held_;
  std::vector<ReadyJob> released_;
  Counts held_counts_;
  Instant held_to_ = kInstantMin;  // all that are held are due by then
  Counts released_counts_;
};

}  // namespace carillon
