// One seed, from its first day to the last job at rest: the real engine on a virtual clock, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/fault.h"
#include "sim/judge.h"
#include "sim/site.h"
#include "sim/world.h"

namespace carillon::sim {

struct SimulationOptions {
  std::uint64_t seed = 1;
  int days = 3;
  StoreKind store = StoreKind::memory;
  bool power_loss = true;  // of a disk: also in the middle of commits
  bool verbose = false;
};

struct SimulationReport {
  double days = 0;
  std::uint64_t steps = 0;
  std::uint64_t jobs = 0;
  std::uint64_t starts = 0;
  std::uint64_t hash = 0;
  FaultCounts faults;
  std::optional<Violation> violation;
  Instant at;  // of the violation
};

inline constexpr std::size_t kRecentJobs = 40;

class Simulation final : private Witness {
 public:
  explicit Simulation(const SimulationOptions& options);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation() override = default;

  SimulationReport run();
  // How far it is, for a process that is about to die.
  const SimulationReport& report() const { return report_; }

 private:
  // What this world suffers from.
  struct Plagues {
    Duration crash_every{};
    Duration pause_every{};
    Duration commit_every{};
    Duration jump_every{};
    Duration drain_every{};
    Duration operation_every = std::chrono::minutes(25);
    Duration arrival_every = std::chrono::seconds(300);
  };

  // ---- Commits ----
  CommitFate fate(const std::vector<Op>& ops) override;
  void committed(const std::vector<Op>& ops, bool answered) override;
  void undone(const std::vector<Op>& ops) override { judge_.undone(ops); }
  void unknown(const std::vector<Op>& ops, const Error& error) override;
  JobId highest_id() override { return judge_.model().highest; }

  // ---- Time ----
  BootTime boot() const { return clock_.boot(); }
  Instant now() const { return clock_.wall(); }
  void read_held();
  void set_up();
  void run_until(BootTime end);
  BootTime next_event(BootTime end) const;
  void run_node();
  void start_node();
  void end_node();
  void settle();
  Judge::RoundState round_state();

  // ---- What goes wrong ----
  void next_fault();
  void crash(bool power);
  void resolve_unknown();
  void drain();
  void stall(bool handlers_go_on);
  void jump();

  // ---- What people do ----
  void arrive();
  void arrive_one();
  void operate();
  void edit_schedule();
  void put(const ScheduleSpec& spec);
  void put_after();
  void change_rule(const RulePut& put);
  void act_on_job();
  void aim_at_next_due();
  void move_at_its_time();
  void say_stale_word();
  void ask_for_the_impossible();
  const ScheduleRow* any_schedule();
  void set_up_subjects();
  void put_with_subjects(Kind kind, const std::string& tenant, const std::string& name, int subjects);
  void put_after_subjects(const ScheduleRow& parent);
  void put_subject(const ScheduleSpec& schedule, const std::string& name, const SubjectSpec& spec, bool patches);
  void act_on_subject();
  void raise_cursor(const Subjects::Named& named);
  void trigger_subject(const Subjects::Named& named);

  const SimulationOptions options_;
  SimulationReport report_;
  Random random_;
  Random commit_random_;
  Random handler_random_;
  Random power_random_;
  testing::ManualClock manual_;
  Site::Clock& clock_;
  Trace trace_;
  Specs specs_;
  Judge judge_;
  Sink sink_;
  World world_;
  Habits habits_;
  Plagues plagues_;
  Node::Options node_options_;
  Site site_;

  bool calm_ = false;
  std::optional<CommitFate> next_fate_;
  bool at_planning_ = false;      // it meets the next commit that plans
  bool at_claims_ahead_ = false;  // or the next that claims ahead of a free slot
  int bad_commits_ = 0;           // of those to come, so many go wrong
  CommitFate bad_fate_ = CommitFate::refused;
  bool crash_now_ = false;
  bool handlers_go_on_ = false;  // while the node does not: it waits for its disk
  bool failed_ = false;          // the last commit
  std::optional<std::vector<Op>> unknown_;
  BootTime next_arrival_{};
  BootTime next_operation_{};
  // A queued job that somebody moves at the very instant at which it falls due.
  struct Aim {
    JobId job;
    BootTime at{};
  };
  std::optional<Aim> aim_;
  BootTime next_audit_{};
  BootTime next_scan_{};
  BootTime next_fault_{};
  BootTime node_wakes_{};
  BootTime node_starts_{};  // when it is down or paused
  std::vector<JobId> recent_;
  int names_ = 0;
  bool bulk_ = false;  // one was asked for: parked jobs may move
};

}  // namespace carillon::sim
