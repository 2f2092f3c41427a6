// Subjects: one instance of a schedule with `fan_out` for each user, topic or stock, with its own overrides and state.
#pragma once

#include <carillon/job_id.h>
#include <carillon/job_state.h>
#include <carillon/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace carillon {

// A window that closed otherwise than done or skipped, or a range of them.
struct WindowGap {
  Instant start;
  Instant end;
  std::string outcome;  // dlq, cancelled, cutoff_reached, missed
  std::string reason;
  JobId job;  // none: it never became one
};

struct SubjectInfo {
  std::string subject;
  std::int64_t version = 1;  // moves with every change
  bool enabled = true;
  std::string overrides;  // a JSON object: what it says otherwise than its schedule, as it was put
  // When the planner comes to it next; while its open job is failing: the next attempt, if that is earlier.
  std::optional<Instant> next_at;
  JobId open_job;              // none: none is open, or parked
  std::uint32_t attempts = 0;  // that the open job has used
  // What happened so far.
  std::string last_slot;               // of the last outcome: a date for deliveries, else an instant; "": none yet
  std::string status;                  // success, cutoff_reached, …, or dlq: one was parked since; "": none yet
  std::optional<Instant> last_run_at;  // of the last success
  std::uint32_t error_count = 0;       // in a row: outcomes that were no success, and occurrences that were parked
  std::string last_error;
  // Of windows.
  std::optional<Instant> cursor_end;
  std::optional<Instant> planned_end;
  std::vector<WindowGap> gaps;  // the newest 100; in lists the newest 10
  // Of adaptive checks.
  std::optional<Instant> expected_at;
  std::string cadence_state;  // the band in force
  std::string last_status;
  std::optional<Instant> last_checked_at;
  std::optional<Instant> last_available_at;
};

// All that is given must match.
struct SubjectQuery {
  std::string prefix;  // of the name
  std::optional<bool> enabled;
  std::optional<std::string> status;  // the last outcome; "": has none
  std::optional<Instant> due_until;   // its next time is no later; listed by it, earliest first
};

struct SubjectList {
  std::vector<SubjectInfo> subjects;  // by name, or by next time
  std::string next_cursor;            // pass it to go on; "": this was the last page
};

struct PutSubjectAnswer {
  SubjectInfo info;
  bool created = false;
  JobId triggered;  // the job that runs now because the body said `trigger`
};

struct ImportedSubjects {
  std::uint64_t created = 0;
  std::uint64_t updated = 0;
  std::uint64_t unchanged = 0;
};

// How many occurrences of one day ended how.
struct OutcomeMinute {
  int minute = 0;       // of the local day: due times of deliveries, slots of others
  std::string outcome;  // success, cutoff_reached, skipped, missed, cancelled, open, dlq
  std::int64_t count = 0;
};

// What became of one occurrence, or of a range of them.
struct OutcomeItem {
  std::string subject;
  std::string slot;              // a date for deliveries, else an instant
  std::optional<Instant> until;  // of a window: its end; of a range: its last one
  std::int64_t count = 1;
  std::string outcome;  // as above
  std::string reason;
  JobId job;  // none: it never became one
  std::optional<Instant> at;
};

struct OutcomeList {
  std::vector<OutcomeItem> items;  // by subject and slot
  std::string next_cursor;
};

struct OutcomeItemQuery {
  std::optional<std::string> subject;
  std::optional<Instant> from;  // slots from it on
  std::optional<Instant> to;    // and before it
};

}  // namespace carillon
