// The subjects of schedules with fan_out, as the judge plans them for itself: what a transaction wrote about one is
// held against its kind, and what is due must have been planned. (invariants 1, 3, 19 to 23, 31, 32, 34)
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/subject_model.h"

namespace carillon::sim {

class Subjects {
 public:
  Subjects(const Specs& specs, Findings& findings) : specs_(specs), findings_(findings) {}
  Subjects(const Subjects&) = delete;
  Subjects& operator=(const Subjects&) = delete;
  ~Subjects() = default;

  // ---- Within a transaction, in order ----
  void put_schedule(const ScheduleRow& row, Instant now);
  void erase_schedule(ScheduleId id);
  void put_subject(const SubjectRow& row, Instant now);
  // Retention is over: nothing guards its slots any more. (invariant 1)
  void erase_subject(const SubjectKey& key);
  void insert_job(const JobRow& row, Instant now);
  // A job of no occurrence: it may be what follows at a cutoff.
  void insert_plain_job(const JobRow& row, std::string_view tenant, std::string_view payload);
  void put_outcome(const OutcomeRow& before, const OutcomeRow& row, Instant now);
  void job_done(const LiveJob& job);
  // A check has said something about its subject, or failed for the last time.
  void learnt(const JobRow& row, const Word& word);
  void superseded(const JobRow& row);
  // One that has not failed takes an earlier error away, whatever it says.
  void checked(const JobRow& row);
  void end_of_transaction(Instant now, const Model& model);

  // Somebody is about to raise a cursor; nothing: has done so.
  void intend_cursor(const SubjectKey& key, std::optional<Instant> at);

  bool knows(ScheduleId id) const { return owners_.contains(id); }
  bool delivers(ScheduleId id) const;
  bool is_enabled(ScheduleId schedule, const std::string& subject) const;
  // As it was last written; nothing: it was not.
  const SubjectRow* row(const SubjectKey& key) const;
  std::size_t size() const { return subjects_.size(); }
  // When the next check is due: what a failed one yields to.
  std::optional<Instant> next_check(const JobRow& row) const;
  // After a round that left nothing to do: whoever is due and was not planned.
  std::optional<std::string> overdue(Instant now);

  struct Named {
    SubjectKey key;
    const Owner* owner = nullptr;
    const SubjectModel* subject = nullptr;
  };
  std::vector<Named> all() const;

  // Occurrences of the last transaction that ended without a job; and schedules of which it cannot be said any more how
  // they are to be counted, because the rule in force was changed along with it.
  struct Counted {
    std::vector<CountedSlot> slots;
    std::set<ScheduleId> unsure;
  };
  Counted take_counted() { return std::exchange(counted_, {}); }

 private:
  SubjectTouch& touch(const SubjectKey& key);
  void judge_cutoffs();
  void judge_followers(Instant now);
  void judge_deleted(const SubjectModel& subject, const SubjectTouch& touched, const Model& model);
  void judge_status(const SubjectModel& subject, const SubjectTouch& touched);
  void count_closed(const SubjectView& view);
  void set_due(const SubjectKey& key, SubjectModel& subject, std::optional<Instant> before);

  const Specs& specs_;
  Findings& findings_;
  std::map<ScheduleId, Owner> owners_;
  std::map<SubjectKey, SubjectModel> subjects_;
  std::set<std::pair<Instant, SubjectKey>> due_;
  bool any_previous_ = false;  // of an owner
  std::set<OutcomeKey> made_;  // occurrences that ever became a job

  // Of the transaction under way.
  std::map<SubjectKey, SubjectTouch> touched_;
  std::vector<OutcomeKey> done_;
  std::vector<OutcomeKey> followed_;  // made for schedules that follow another
  std::map<SubjectKey, int> cutoffs_;
  std::map<SubjectKey, int> at_cutoff_;
  Counted counted_;
};

}  // namespace carillon::sim
