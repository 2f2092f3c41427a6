// The judge: sees what clients asked and were answered, what runners began and said, and what was stored, and holds
// all of it against docs/invariants.md. It shares no code with the engine but the shapes of rows.
#pragma once

#include <carillon/client.h>
#include <carillon/events.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/attempts/finished.h"
#include "sim/fortunes.h"
#include "sim/model.h"
#include "sim/rules.h"
#include "sim/slots.h"
#include "sim/subjects.h"
#include "sim/trace.h"
#include "sim/verdict.h"
#include "sim/witness.h"
#include "store/store.h"

namespace carillon::sim {

class Judge {
 public:
  Judge(const Specs& specs, const StoreClock& clock, Trace& trace)
      : specs_(specs),
        clock_(clock),
        trace_(trace),
        slots_(specs, findings_),
        subjects_(specs, findings_),
        fortunes_(findings_),
        rules_(findings_) {}
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;
  ~Judge() = default;

  const Findings& findings() const { return findings_; }
  Findings& findings() { return findings_; }
  Rules& rules() { return rules_; }
  const Slots& slots() const { return slots_; }
  Subjects& subjects() { return subjects_; }
  const Model& model() const { return model_; }

  // ---- What was stored ----
  void committed(const std::vector<Op>& ops, bool answered);
  void undone(const std::vector<Op>& ops);

  // ---- What runners saw ----
  void given(const Run& run);
  void started(const Run& run);
  void said(const Finished& finished);

  // ---- What clients ask; `asks` names what an operator may do until the next call of it ----
  enum class Asks : std::uint8_t { nothing, retry };
  void operator_asks(Asks asks) { asks_ = asks; }
  // What a key must answer: the holder, if the key is held.
  const KeyHolder* holder(const JobSpec& spec) const;
  void answered(const JobSpec& spec, const std::optional<KeyHolder>& holder, const Result<EnqueuedJob>& answer);

  // ---- The life of nodes ----
  void node_begins(std::size_t slots);
  void node_ends() { node_is_up_ = false; }
  // What a node counted must be what was seen. (invariant 34)
  void compare(const Counters& counters);
  // After a round that left nothing to do at once.
  struct RoundState {
    bool is_loaded = false;
    bool may_start = false;
    bool failed = false;
    std::size_t runs = 0;
    std::size_t slots = 0;
    std::size_t entries = 0;  // of its ready set
    Duration tick{};
    std::map<std::string, std::size_t> due;  // what it shows as due and waiting, by tenant; "": of all
  };
  void round_over(const RoundState& state);
  // Whatever may start must have started; leases that ran out must have been found. (invariants 5, 6, 8, 12)
  void audit(const RoundState& state, Duration tick);
  void clock_was_set();
  // Jobs that were seen before closed gates, by how many closings at least: explain has to say so, whatever has become
  // of them since. (invariant 33)
  struct HeldByGates {
    std::string tenant;
    std::vector<Instant> closings{};  // when each was seen
  };
  const std::map<JobId, HeldByGates>& held_by_gates() const { return held_by_gates_; }
  void read(JobId id, const Result<JobInfo>& info, const Result<Explanation>& why);
  // The stored rows against those witnessed. (invariants 4, 14, 34)
  void compare_rows(Backend& backend, StoreReader& reader);
  // Everything has ended or is parked. (invariants 3, 5)
  bool is_settled() const;
  std::string what_is_left() const;

 private:
  struct Ending {
    LiveJob job;  // as it was, with its lease
    std::optional<JobRow> back;
    std::optional<ArchiveRow> archived;
    std::optional<AttemptRow> attempt;
    std::optional<Instant> next_check;  // which a failed check yields to
  };
  struct Expected {
    JobState state = JobState::queued;
    Instant earliest;
    Instant latest;
    std::uint32_t attempts = 0;
    std::uint32_t losses = 0;
    bool lost_ahead = false;
    std::uint32_t releases = 0;
    std::uint32_t rate_limits = 0;
  };

  void see(const JobInserted& op);
  void see(const JobUpdated& op);
  void see(const JobArchived& op);
  void see(const ArchivedErased& op);
  void see(const AttemptInserted& op);
  void see(const LeaseInserted& op);
  void see(const LeaseUpdated& op);
  void see(const LeaseErased& op);
  void see(const OutcomePut& op);
  void see(const OutcomeErased& op);
  void see(const SubjectPut& op);
  void see(const SubjectErased& op);
  void see(const SchedulePut& op);
  void see(const ScheduleErased& op);
  void see(const KeyPut&) {}
  void see(const KeyErased&) {}
  void see(const DependencyInserted& op);
  void see(const DependencyErased& op);
  void see(const DocumentPut& op) { rules_.stored(op.document.key, now_, boot_); }
  void see(const DocumentErased& op) { rules_.stored(op.key, now_, boot_); }

  void look_at_gates(JobId id, LiveJob& job);
  void judge_end(Ending& ending);
  void judge_result(const Ending& ending, std::optional<AttemptResult> result, const Word* word);
  Expected expect(const Ending& ending, std::optional<AttemptResult> result, const Word* word) const;
  void expect_retry(const Ending& ending, const Word* word, Expected& expected) const;
  void expect_yield(const Ending& ending, Expected& expected) const;
  void judge_learning(const Ending& ending, std::optional<AttemptResult> result, const Word* word, JobState state);
  // Its schedule does not run, or its subject is not enabled. (invariant 32)
  bool is_held(const JobRow& row, Instant now) const;
  void count_outcome(const CountedSlot& slot, std::int64_t count);
  void judge_follow_ups(const Ending& ending, const Word* word, JobState state);
  void flush(JobId job);
  void moves(const LiveJob& job, JobState to);
  void forget_startable();
  bool is_startable(const LiveJob& job, const RoundState& state);
  // What is shown as due and waiting is what the rows say, once the clock has stood still for long enough to read what
  // it has made due. (invariant 34)
  void judge_due(const RoundState& state);
  void judge_turns(const Run& run);
  void judge_slot(const LiveJob& job, const LeaseRow& lease);
  void compare_plans(Transaction& tx);
  void compare_outcome_counts(StoreReader& reader);
  void plain_changed(const LiveJob& job, bool is_there);

  const Specs& specs_;
  const StoreClock& clock_;
  Trace& trace_;
  Findings findings_;
  Slots slots_;
  Subjects subjects_;
  Fortunes fortunes_;
  Rules rules_;
  Model model_;
  Asks asks_ = Asks::nothing;

  // By schedule, then local day: how many occurrences of which minute ended how, or have not.
  using DayCounts = std::map<std::pair<int, JobState>, std::int64_t>;
  std::map<ScheduleId, std::map<std::int64_t, DayCounts>> outcome_counts_;
  std::set<ScheduleId> unsure_counts_;

  // Of the transaction under way.
  std::map<JobId, HeldByGates> held_by_gates_;
  Instant now_;
  BootTime boot_{};
  std::map<JobId, Ending> endings_;
  std::set<std::string> follow_ups_due_;
  std::set<std::string> follow_ups_made_;
  std::set<OutcomeKey> final_slots_;
  std::set<OutcomeKey> final_outcomes_;

  // Of the node that runs.
  bool node_is_up_ = false;
  bool an_answer_was_lost_ = false;
  bool a_commit_failed_ = false;
  Counters counted_;
  std::uint64_t audited_moves_ = 0;
  std::set<std::string> follow_ups_seen_;
  std::map<std::string, std::set<std::pair<Instant, JobId>>> plain_;  // by tenant: queued, and nothing holds them
  std::map<std::string, std::uint32_t> passed_over_;                  // by tenant: starts of others while it could
  BootTime node_since_{};
  std::size_t entries_ = 0;
  BootTime clock_set_at_{};
  std::size_t slots_of_node_ = 0;
  std::set<AttemptKey> at_work_;  // handlers that were entered and have not returned
};

}  // namespace carillon::sim
