// Plays a random sequence of calls on the store under test, on the memory store beside it, and to the oracle.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "contract/job_oracle.h"
#include "contract/store_contract.h"

namespace carillon::test {

// What to do, and numbers that choose among what there is when it is done. Small numbers make a simple case.
using Step = std::array<std::uint32_t, 5>;

class ModelPlayer {
 public:
  inline static const std::vector<std::string> kTenants{"default", "acme"};
  inline static const std::vector<std::string> kSubjects{"x", "y"};

  // `reference` may be null: then only the oracle judges.
  ModelPlayer(ManualStoreClock& clock, Store& store, Store* reference);

  void play(const std::vector<Step>& steps);
  // What went wrong, and what was done before; "" if nothing did.
  const std::string& problem() const { return problem_; }

 private:
  void play_one(const Step& step);
  void check_state();
  void check_invariants();
  void check_schedule();
  void check_open_counts();
  bool failed() const { return !problem_.empty(); }
  void report(std::string problem);

  void enqueue(const Step& step);
  void claim(const Step& step);
  void extend(const Step& step);
  void settle(const Step& step);
  void reap();
  void finish_overdue();
  void act(const Step& step);
  void patch(const Step& step);
  void act_on(const Step& step);
  void prune(const Step& step);
  void move_clock(const Step& step);
  void plan(const Step& step);
  void edit_subject(const Step& step);

  // Makes the call on both stores and compares what they say.
  template <typename Call>
  auto ask(std::string_view what, Call call);

  ScheduleId schedule_in(const Store& store) const { return &store == &store_ ? schedule_ : reference_schedule_; }
  std::optional<SubjectRow> subject_in(Store& store, const std::string& name) const;
  NewJob any_job(const Step& step);
  // From both stores, so that their ids stay abreast.
  JobId fresh_id();
  JobId any_id(std::uint32_t number) const;
  const LeasedJob* any_lease(std::uint32_t number) const;
  std::uint32_t fresh_number() { return ++numbers_; }

  ManualStoreClock& clock_;
  Store& store_;
  Store* reference_;
  JobOracle oracle_;
  ScheduleId schedule_;
  ScheduleId reference_schedule_;
  std::vector<JobId> ids_;
  std::vector<LeasedJob> leased_;
  std::uint32_t numbers_ = 0;
  std::map<JobId, std::int64_t> tokens_;
  std::map<JobId, JobState> states_;
  std::map<std::string, Instant> cursors_;
  std::map<std::string, Instant> planned_;  // where the next window of a subject begins
  bool in_transaction_ = false;
  std::string log_;
  std::string problem_;
};

}  // namespace carillon::test
