// Questions for pages and lists. Reads never block the writer, see only what was committed, and are cut after a second:
// a page may then hold less than was asked for, and its cursor goes on from there.
#pragma once

#include <carillon/job_query.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/jobs/attempt.h"
#include "store/rows.h"

namespace carillon {

// A job as it stands, live or finished.
struct JobView {
  JobRow row;
  Lane lane;
  std::string type;
  std::string schedule;
  std::string payload;
  JobState state = JobState::queued;  // of row, or processing
  std::optional<LeaseRow> lease;
  std::optional<Instant> lease_until;
  std::optional<Instant> finished_at;
  std::optional<Instant> started_at;  // of a finished one: when its last attempt began
  std::vector<AttemptRow> attempts;   // that have ended; oldest first
  std::vector<JobId> waits_for;       // what it depends on and has not ended
};

struct JobPage {
  std::vector<JobView> jobs;  // newest first, without attempts; fewer than asked for if their payloads are long
  JobId next_before;          // pass it as `before` to go on; none: this was the last page
};

struct StateCount {
  Lane lane;
  JobState state = JobState::queued;
  std::int64_t count = 0;
};

struct OutcomeCount {
  std::int64_t day = 0;  // of the occurrence by its local clock, days since 1970
  int minute = 0;
  JobState outcome = JobState::done;  // or kOpenOutcome, or dlq
  std::int64_t count = 0;
};

// What an occurrence is counted under until it has its outcome, or is parked.
inline constexpr JobState kOpenOutcome = JobState::queued;

struct SubjectFilter {
  ScheduleId schedule;
  std::string prefix;  // of the name
  std::optional<bool> enabled;
  std::optional<std::string> status;  // the last outcome: success, cutoff_reached, …; "": has none
  std::optional<Instant> due_until;   // its next time is no later; listed by it, earliest first
};

// Where a list of subjects goes on: behind this one.
struct SubjectMark {
  std::string subject;
  std::optional<Instant> next_at;  // of a list by next times
  friend bool operator==(const SubjectMark&, const SubjectMark&) = default;
};

struct SubjectPage {
  std::vector<SubjectRow> subjects;  // by name, or by next time and name
  std::optional<SubjectMark> next;   // pass it as `after` to go on; none: this was the last page
};

// Where a list of outcomes goes on: behind this one.
struct OutcomeMark {
  std::string subject;
  Instant slot;
  friend auto operator<=>(const OutcomeMark&, const OutcomeMark&) = default;
};

struct OutcomePage {
  std::vector<OutcomeRow> outcomes;  // by subject and slot
  std::optional<OutcomeMark> next;   // pass it as `after` to go on; none: this was the last page
};

inline constexpr std::size_t kPageMax = 500;
// A page of jobs ends with the one that brings its payloads to this.
inline constexpr std::size_t kPageBytesMax = 4 << 20;

class StoreReader {
 public:
  StoreReader() = default;
  StoreReader(const StoreReader&) = delete;
  StoreReader& operator=(const StoreReader&) = delete;
  virtual ~StoreReader() = default;

  // `not_found` if the tenant has no such job. (invariant 28)
  virtual Result<JobView> job(std::string_view tenant, JobId id) = 0;
  virtual Result<JobPage> jobs(const JobQuery& filter, JobId before, std::size_t limit) = 0;
  // By lane and state; nothing is counted for it. (invariant 34)
  virtual Result<std::vector<StateCount>> counts(std::string_view tenant) = 0;
  // Over all tenants and queues; nothing is counted for it.
  virtual Result<std::int64_t> count_of(JobState state) = 0;

  virtual Result<ScheduleRow> schedule(std::string_view tenant, std::string_view name) = 0;
  // One that was deleted too, as long as anything of it is kept: its outcomes stay.
  virtual Result<ScheduleRow> kept_schedule(std::string_view tenant, std::string_view name) = 0;
  // By name, from after `after`.
  virtual Result<std::vector<ScheduleRow>> schedules(std::string_view tenant, std::string_view after,
                                                     std::size_t limit) = 0;
  virtual Result<SubjectRow> subject(ScheduleId schedule, std::string_view subject) = 0;
  virtual Result<SubjectPage> subjects(const SubjectFilter& filter, const std::optional<SubjectMark>& after,
                                       std::size_t limit) = 0;
  struct OutcomeQuery {
    ScheduleId schedule;
    std::optional<std::string> subject;
    Instant from = kInstantMin;
    Instant to = kInstantMax;
    std::size_t limit = kPageMax;
  };
  virtual Result<std::vector<OutcomeRow>> outcomes(const OutcomeQuery& query) = 0;
  // The same as a list that can be gone on with.
  virtual Result<OutcomePage> outcome_page(const OutcomeQuery& query, const std::optional<OutcomeMark>& after) = 0;
  // The newest ones of a subject, oldest first.
  virtual Result<std::vector<OutcomeRow>> last_outcomes(ScheduleId schedule, std::string_view subject,
                                                        std::size_t limit) = 0;
  // Windows that closed otherwise than done or skipped: the newest ones, oldest first.
  virtual Result<std::vector<OutcomeRow>> gaps(ScheduleId schedule, std::string_view subject, std::size_t limit) = 0;
  // Of one local date, by minute: what has ended, is open or is parked. Nothing is counted for it. (invariant 34)
  virtual Result<std::vector<OutcomeCount>> outcome_counts(ScheduleId schedule, std::int64_t day) = 0;

  virtual Result<Document> document(const DocumentKey& key) = 0;
  // Of one tenant and kind, by name, from after `after`.
  virtual Result<std::vector<Document>> documents(std::string_view tenant, std::string_view kind,
                                                  std::string_view after, std::size_t limit) = 0;
  virtual Result<std::vector<AuditRow>> audit(std::string_view tenant, std::int64_t before, std::size_t limit) = 0;
};

}  // namespace carillon
