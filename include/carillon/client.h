// What programs ask of an engine. Any thread; also handlers. Every answer about a write is durable.
#pragma once

#include <carillon/error.h>
#include <carillon/explain.h>
#include <carillon/job_info.h>
#include <carillon/job_query.h>
#include <carillon/job_request.h>
#include <carillon/schedule.h>
#include <carillon/subject.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace carillon {

struct EnqueuedJob {
  JobId id;
  bool deduplicated = false;  // an idempotency key gave the job that was there already
  JobState state = JobState::queued;
};

struct JobList {
  std::vector<JobInfo> jobs;  // newest first
  JobId next_before;          // pass it to go on; none: this was the last page
};

enum class BulkAction : std::uint8_t { retry, cancel, discard, backfill };

std::string_view to_string(BulkAction action);

// Nobody means every job by forgetting a word: a query that filters nothing is refused, unless `all` says so.
// Cancelling leaves parked jobs alone unless the query asks for the state dlq; retry and discard mean parked jobs only.
struct BulkRequest {
  BulkAction action = BulkAction::retry;
  JobQuery query;
  std::optional<double> rate;  // jobs a second; else as fast as it goes
  bool all = false;            // every job of the tenant, without a filter
};

// Work over many jobs, which survives a restart.
struct BulkInfo {
  std::string id;
  BulkAction action = BulkAction::retry;
  std::string state;                   // running, done, stopped
  std::optional<std::uint64_t> total;  // that matched when it began; nothing: too many to be counted at once
  std::uint64_t done = 0;
  std::uint64_t failed = 0;
};

struct PreviewTime {
  std::optional<Instant> at;  // nothing: a clock change made this time impossible, and the policy skips it
  std::string local;
  std::string note;
  // Of a delivery: the day that begins at `at`, and when it is given up.
  std::string day;
  std::optional<Instant> cutoff;
  // Of windows: the one whose job is due at `at`.
  std::optional<Instant> window_start;
  std::optional<Instant> window_end;
};

struct Preview {
  std::vector<PreviewTime> times;
  // Why none of them comes: paused, disabled, or subject_disabled. The times are those if it went on now. "": they
  // come.
  std::string standstill;
  std::optional<Instant> standstill_until;  // of paused, if that has an end
};

class Client {
 public:
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  // ---- Jobs ----
  virtual Result<EnqueuedJob> enqueue(const JobRequest& job) = 0;
  // All or none.
  virtual Result<std::vector<EnqueuedJob>> enqueue_all(std::span<const JobRequest> jobs) = 0;
  Result<EnqueuedJob> schedule_once(const JobRequest& job) { return enqueue(job); }

  virtual Result<JobInfo> job(std::string_view tenant, JobId id) = 0;
  virtual Result<JobList> jobs(const JobQuery& query, JobId before, std::size_t limit) = 0;
  virtual Result<JobState> cancel(std::string_view tenant, JobId id) = 0;
  virtual Result<JobState> retry(std::string_view tenant, JobId id) = 0;
  virtual Result<JobState> discard(std::string_view tenant, JobId id) = 0;
  virtual Result<JobState> run_now(std::string_view tenant, JobId id) = 0;
  // A new job like that one, which touches no occurrence.
  virtual Result<EnqueuedJob> rerun(std::string_view tenant, JobId id) = 0;
  // What is not named stays. Of a queued or waiting job: one that runs is `job_already_running`, any other `conflict`.
  struct JobChange {
    std::optional<int> priority;
    std::optional<Instant> run_at;
    std::optional<std::string> payload;               // instead of the whole that is there
    std::optional<std::optional<RetryPolicy>> retry;  // nothing in it: the default
    std::optional<std::uint32_t> max_attempts;        // what waits is tried once more in any case
    std::optional<std::vector<std::string>> limits;
  };
  virtual Result<JobState> change(std::string_view tenant, JobId id, const JobChange& change) = 0;
  virtual Result<Explanation> explain(std::string_view tenant, JobId id) = 0;

  virtual Result<BulkInfo> bulk(const BulkRequest& request) = 0;
  virtual Result<BulkInfo> bulk_status(std::string_view tenant, std::string_view id) = 0;
  virtual Result<BulkInfo> stop_bulk(std::string_view tenant, std::string_view id) = 0;

  // ---- Schedules ----
  virtual Result<ScheduleInfo> schedule_recurring(const ScheduleRequest& request) = 0;
  // `definition` is the JSON of the documentation.
  virtual Result<ScheduleInfo> put_schedule(std::string_view tenant, std::string_view definition,
                                            std::optional<std::int64_t> if_revision = std::nullopt) = 0;
  // What the patch leaves out stays: objects are merged, null clears (RFC 7396). `payload` and `meta` are replaced
  // whole, and so is a trigger or retry of another kind.
  virtual Result<ScheduleInfo> patch_schedule(std::string_view tenant, std::string_view name, std::string_view patch,
                                              std::optional<std::int64_t> if_revision = std::nullopt) = 0;
  virtual Result<ScheduleInfo> schedule(std::string_view tenant, std::string_view name) = 0;
  virtual Result<std::vector<ScheduleInfo>> schedules(std::string_view tenant, std::string_view after,
                                                      std::size_t limit) = 0;
  // Without an end: until resumed.
  virtual Result<ScheduleInfo> pause(std::string_view tenant, std::string_view name,
                                     std::optional<Instant> until = std::nullopt) = 0;
  virtual Result<ScheduleInfo> resume(std::string_view tenant, std::string_view name) = 0;
  virtual Result<void> delete_schedule(std::string_view tenant, std::string_view name) = 0;
  struct TriggerOptions {
    std::optional<std::string> payload;  // merged over the template's and the subject's, top level by top level
    std::optional<int> priority;         // unless told otherwise 2, or the job's own if that is before it
    std::string subject;                 // of a schedule with fan_out
    // Of windows: this one, whether it was run or not. It never moves the cursor.
    std::optional<Instant> window_start;
    std::optional<Instant> window_end;
    std::optional<std::string> mode;  // of windows, for this run
  };
  // `deduplicated`: it is a job that was open already, which was moved to now.
  virtual Result<EnqueuedJob> trigger(std::string_view tenant, std::string_view name,
                                      const TriggerOptions& options) = 0;
  // Of a subject of it, if one is named; else as the schedule alone says.
  virtual Result<Preview> preview(std::string_view tenant, std::string_view name, std::size_t count,
                                  std::string_view subject = {}) = 0;
  virtual Result<Explanation> explain_schedule(std::string_view tenant, std::string_view name,
                                               std::string_view subject = {}) = 0;
  // Runs every window of [from, to) by hand, of one subject or of all; never moves a cursor. Survives a restart.
  struct BackfillRequest {
    std::string subject;  // "": all
    Instant from;
    Instant to;
  };
  virtual Result<BulkInfo> backfill(std::string_view tenant, std::string_view name, const BackfillRequest& request) = 0;

  // ---- Subjects of a schedule with fan_out; without it `conflict` ----
  // `body` is the JSON of the documentation; what it leaves out is as the schedule has it.
  virtual Result<PutSubjectAnswer> put_subject(std::string_view tenant, std::string_view schedule,
                                               std::string_view subject, std::string_view body,
                                               std::optional<std::int64_t> if_version = std::nullopt) = 0;
  // What the body leaves out stays, null takes away.
  virtual Result<PutSubjectAnswer> patch_subject(std::string_view tenant, std::string_view schedule,
                                                 std::string_view subject, std::string_view body,
                                                 std::optional<std::int64_t> if_version = std::nullopt) = 0;
  // A body a line, each with its `subject`; all of them or none. An error names the line.
  virtual Result<ImportedSubjects> import_subjects(std::string_view tenant, std::string_view schedule,
                                                   std::string_view lines) = 0;
  virtual Result<SubjectInfo> subject(std::string_view tenant, std::string_view schedule, std::string_view subject) = 0;
  virtual Result<SubjectList> subjects(std::string_view tenant, std::string_view schedule, const SubjectQuery& query,
                                       std::string_view cursor, std::size_t limit) = 0;
  virtual Result<void> delete_subject(std::string_view tenant, std::string_view schedule, std::string_view subject) = 0;

  // ---- Outcomes ----
  // Of the day `date`, written 2026-03-29, by the local clock of each occurrence.
  virtual Result<std::vector<OutcomeMinute>> outcomes_of_day(std::string_view tenant, std::string_view schedule,
                                                             std::string_view date) = 0;
  virtual Result<OutcomeList> outcome_items(std::string_view tenant, std::string_view schedule,
                                            const OutcomeItemQuery& query, std::string_view cursor,
                                            std::size_t limit) = 0;

  // ---- Settings: JSON objects as documented; nothing clears what was set. Tenant "": for all ----
  virtual Result<void> put_settings(std::string_view tenant, std::string_view settings) = 0;
  virtual Result<void> put_queue(std::string_view tenant, std::string_view queue, std::string_view settings) = 0;
  virtual Result<void> put_limit(std::string_view tenant, std::string_view name,
                                 std::optional<std::string_view> rule) = 0;
  virtual Result<void> put_maintenance(std::string_view tenant, std::optional<std::string_view> maintenance) = 0;
  virtual Result<void> put_config(std::string_view config) = 0;
};

}  // namespace carillon
