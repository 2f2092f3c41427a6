// A schedule is run by hand, or by a push from outside: a job of its own, or for some kinds the one that is open.
//
// Every method is called inside of a round's transaction.
#pragma once

#include <carillon/client.h>

#include <optional>
#include <string>
#include <string_view>

#include "engine/planning/due_planner.h"
#include "engine/planning/follow_ups.h"
#include "engine/planning/schedule_compiler.h"
#include "engine/planning/schedule_index.h"
#include "engine/planning/subject_planner.h"
#include "engine/round/round.h"
#include "store/store.h"

namespace carillon {

class ManualRuns {
 public:
  ManualRuns(Store& store, ScheduleCompiler& compiler, SubjectPlanner& subjects, ScheduleIndex& index, DuePlanner& due,
             FollowUps& follow_ups)
      : store_(store), compiler_(compiler), subjects_(subjects), index_(index), due_(due), follow_ups_(follow_ups) {}
  ManualRuns(const ManualRuns&) = delete;
  ManualRuns& operator=(const ManualRuns&) = delete;
  ~ManualRuns() = default;

  // A push from outside says more than a person.
  struct Push {
    std::string key;   // the same again is the same push
    std::string said;  // all of it: something else under the key is a conflict
    std::string created_by;
    std::string meta;                    // a JSON object
    std::string payload;                 // a JSON object that is laid over the job's, member by member
    std::optional<Instant> expected_at;  // of adaptive: learnt by the way
  };
  Result<EnqueuedJob> trigger(Round& round, std::string_view tenant, std::string_view name,
                              const Client::TriggerOptions& options, const Push& push);
  // What is to be run now may be running. Under the other policies a run by hand overlaps with nothing: it counts for
  // no occurrence.
  Result<void> check_not_running(const ScheduleRow& row, const Schedule& schedule, std::string_view subject);

 private:
  Result<EnqueuedJob> enqueue(Round& round, NewJob job, const Push& push);
  Result<EnqueuedJob> run_open_job(Round& round, const ScheduleRow& row, const OpenJobRow& open,
                                   const Client::TriggerOptions& options, const Push& push);
  // Of checks: now, or as soon as the one `behind` which it is made has ended.
  Result<EnqueuedJob> make_check(Round& round, const Ruling& ruling, const SubjectRow& subject,
                                 const Client::TriggerOptions& options, const Push& push, JobId behind);
  Result<EnqueuedJob> trigger_subject(Round& round, const Ruling& ruling, const SubjectRow& subject,
                                      const Client::TriggerOptions& options, const Push& push);
  Result<void> expect_at(Round& round, const Ruling& ruling, std::string_view subject, Instant expected_at);

  Store& store_;
  ScheduleCompiler& compiler_;
  SubjectPlanner& subjects_;
  ScheduleIndex& index_;
  DuePlanner& due_;
  FollowUps& follow_ups_;
};

}  // namespace carillon
