// The end of a job, and all that follows from it in the same transaction: its key, its dependents, its outcome, its
// subject and the cursor.
#pragma once

#include <vector>

#include "store/cases/context.h"
#include "store/plan_store.h"

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

// A job that others depend on, and that has ended otherwise than as done.
struct UnmetParent {
  JobId id;
  JobState state = JobState::cancelled;
};
// What a dependent that is cancelled for it says.
JobDetail not_met(JobDetail detail, const UnmetParent& parent);

// The job was parked in the DLQ: if it is one of an occurrence, those of the same subject that waited for it are ready.
void note_parked(Context& context, const JobRow& row, std::vector<ReadyJob>& ready);
// It was taken out of it again.
void note_taken_out(Context& context, const JobRow& row);

// An outcome that no job came to becomes the subject's status.
void note_closed(Context& context, SubjectRow& subject, const ClosedSlot& closed);
// Applies a change to the text of a subject's state. False if it changes nothing.
bool change_state(Context& context, SubjectRow& subject, const StateChange& change);

// Moves the cursor of a subject, if it has one, over the contiguous run of closed windows. (invariant 20) In bounded
// steps: what is left over is picked up by whatever ends or is planned next, or by the sweep.
void move_cursor(Context& context, SubjectRow& subject);
// Its job is not there any more: it was missed, reason `job_lost`.
void close_lost_occurrence(Context& context, OutcomeRow outcome);

}  // namespace carillon
