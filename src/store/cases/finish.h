// The end of a job, and all that follows from it in the same transaction: its key, its dependents, its outcome, its
// subject and the cursor.
#pragma once

#include <vector>

#include "store/cases/context.h"

namespace carillon {

// The attempt that ended the job.
struct EndingAttempt {
  AttemptResult result = AttemptResult::ok;
  std::string worker;
  Instant started_at;
};

struct Finish {
  JobState state = JobState::done;
  JobState from = JobState::queued;  // as a person saw it
  std::optional<EndingAttempt> attempt;
};

// Moves `before` to the archive as `after`, which differs in what the end changed. Dependents that can run now, or that
// run anyway, are added to `ready`; others are cancelled, with all that waits for them.
void finish_job(Context& context, const JobRow& before, JobRow after, const Finish& finish,
                std::vector<ReadyJob>& ready);

// The job was parked in the DLQ: if it is one of an occurrence, those of the same subject that waited for it are ready.
void note_parked(Context& context, const JobRow& row, std::vector<ReadyJob>& ready);
// It was taken out of it again.
void note_taken_out(Context& context, const JobRow& row);

// Moves the cursor of a subject, if it has one, over the contiguous run of closed windows. (invariant 20)
void move_cursor(Context& context, SubjectRow& subject);

}  // namespace carillon
