#include "store/cases/stale.h"

#include <fmt/format.h>

namespace carillon {

namespace {

StaleWhy of_ended_job(const ArchiveRow& archived, const JobDetail& detail) {
  return {.text = fmt::format("the job has ended as {} at {}", to_string(archived.job.state),
                              format_instant(archived.finished_at)),
          .state = archived.job.state,
          .reason = detail.reason,
          .when = archived.finished_at};
}

// Somebody has it, or the store is about to end the attempt.
StaleWhy of_leased_job(const Context& context, const LeaseRow& lease, std::int64_t token) {
  if (lease.token == token) {
    const Instant ran_out = wall_of(context, lease.timeout_at);
    return {.text = fmt::format("the attempt has run out of its timeout at {}", format_instant(ran_out)),
            .state = JobState::processing,
            .reason = "timeout",
            .when = ran_out};
  }
  return {.text = fmt::format("the job was leased with token {} at {}", lease.token, format_instant(lease.claimed_at)),
          .state = JobState::processing,
          .reason = {},
          .when = lease.claimed_at};
}

}  // namespace

std::unexpected<Error> stale(Context& context, JobId job, std::int64_t token) {
  const auto row = context.tx.job(job);
  if (!row) {
    const auto archived = context.tx.archived(job);
    if (!archived) return stale_word(job, token);
    return stale_word(job, token, of_ended_job(*archived, detail_of(context, archived->job)));
  }
  const auto lease = context.tx.lease(job);
  const JobState state = state_of(*row, lease);
  const std::string reason = detail_of(context, *row).reason;
  if (const auto attempt = context.tx.attempt(job, token)) {
    const std::string result(to_string(attempt->result));
    return stale_word(job, token,
                      {.text = fmt::format("its attempt has ended as {} at {}, and the job is {}", result,
                                           format_instant(attempt->finished_at), to_string(state)),
                       .state = state,
                       .reason = reason.empty() ? result : reason,
                       .when = attempt->finished_at});
  }
  if (lease) return stale_word(job, token, of_leased_job(context, *lease, token));
  return stale_word(job, token,
                    {.text = fmt::format("no attempt of that token runs, and the job is {}", to_string(state)),
                     .state = state,
                     .reason = reason,
                     .when = {}});
}

}  // namespace carillon
