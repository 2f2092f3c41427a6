#include "engine/commands/jobs.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <utility>

#include "engine/attempts/settlement.h"
#include "engine/calls/trail.h"
#include "engine/round/node.h"

namespace carillon::command {

namespace {

// What a round tells and does about a job that was enqueued in it.
EnqueuedJob enqueued(Round& round, const NewJob& job, const Enqueued& made) {
  if (made.deduplicated) {
    round.tell(EnqueueIgnored{.job = made.id, .tenant = job.tenant, .type = job.type, .reason = "idempotency_key"});
  } else {
    if (made.state == JobState::queued && !made.was_stored) round.ready.push_back(made.ready);
    round.tell(JobChanged{.job = made.id, .tenant = job.tenant, .state = made.state});
  }
  return {.id = made.id, .deduplicated = made.deduplicated, .state = made.state};
}

JobState changed(Node& node, Round& round, std::string_view tenant, const Changed& change) {
  round.add_ready(change.ready);
  round.tell(JobChanged{.job = change.id, .tenant = std::string(tenant), .state = change.state});
  if (change.cancel_requested) node.ask_to_stop(round, change.id);
  return change.state;
}

Result<std::optional<Enqueued>> key_holder(JobStore& jobs, const NewJob& job) {
  if (!job.options.idempotency_key) return std::nullopt;
  return jobs.key_holder(
      {.tenant = job.tenant, .type = job.type, .key = *job.options.idempotency_key, .said = job.payload});
}

// Who repeats what was accepted hears of it, even if there is no room for more.
Result<bool> has_room(JobStore& store, std::span<const NewJob> jobs, std::optional<std::size_t> new_max) {
  if (!new_max) return true;
  std::size_t fresh = 0;
  for (const NewJob& job : jobs) {
    TRY_ASSIGN(const auto holder, key_holder(store, job));
    if (!holder) ++fresh;
  }
  return fresh <= *new_max;
}

// One that could never start. Of one with a key the first call may have been in time, whose answer was lost: what it
// made is found by the key.
Result<void> check_deadline(JobStore& jobs, const NewJob& job, Instant now) {
  if (!job.deadline || *job.deadline > now) return {};
  if (job.options.idempotency_key) {
    const auto known = key_holder(jobs, job);
    if (!known || *known) return {};
  }
  auto refused = invalid_configuration(
      fmt::format("deadline {} is past: the job would end as cutoff_reached at once", format_instant(*job.deadline)));
  return std::unexpected(about_field("deadline", std::move(refused).error()));
}

std::unexpected<Error> about_item(std::size_t item, std::string_view field, Error error) {
  error.field = fmt::format("jobs[{}].{}", item, field);
  return std::unexpected(std::move(error));
}

std::string_view word_of(JobAction action) {
  switch (action) {
    case JobAction::cancel: return "job.cancel";
    case JobAction::retry: return "job.retry";
    case JobAction::discard: return "job.discard";
    case JobAction::run_now: return "job.run";
  }
  UNREACHABLE();
}

}  // namespace

Result<EnqueueJob::Answer> carry_out(EnqueueJob& command, Node& node, Round& round) {
  NewJob& job = command.job;
  JobStore& jobs = node.store().jobs();
  TRY_ASSIGN(const bool may, has_room(jobs, {&job, 1}, command.new_max));
  if (!may) return EnqueueJob::Answer{.made = {}, .now = round.now, .over_quota = true};
  TRY(node.rules().check_limits(job.tenant, job.options.limits));
  TRY(check_deadline(jobs, job, round.now));
  if (command.delay) job.run_at = add_clamped(round.now, *command.delay);
  TRY_ASSIGN(Enqueued made, std::move(jobs.enqueue({&job, 1}).front()));
  enqueued(round, job, made);
  TRY(note(node, command.by_hand, {job.tenant, "job.make", format_job_id(made.id)}, trail_of(job, made)));
  return EnqueueJob::Answer{.made = std::move(made), .now = round.now};
}

Result<EnqueueBatch::Answer> carry_out(EnqueueBatch& command, Node& node, Round& round) {
  JobStore& store = node.store().jobs();
  TRY_ASSIGN(const bool may, has_room(store, command.jobs, command.new_max));
  if (!may) return EnqueueBatch::Answer{.made = {}, .over_quota = true};
  for (std::size_t i = 0; i < command.jobs.size(); ++i) {
    NewJob& job = command.jobs[i];
    if (auto known = node.rules().check_limits(job.tenant, job.options.limits); !known) {
      return about_item(i, "limits", std::move(known).error());
    }
    if (auto in_time = check_deadline(store, job, round.now); !in_time) {
      return about_item(i, "deadline", std::move(in_time).error());
    }
    if (i < command.delays.size() && command.delays[i]) job.run_at = add_clamped(round.now, *command.delays[i]);
  }
  TRY_ASSIGN(std::vector<Enqueued> made, store.enqueue_all(command.jobs));
  for (std::size_t i = 0; i < made.size(); ++i) enqueued(round, command.jobs[i], made[i]);
  if (!command.by_hand.is_nobody()) {
    TRY(note(node, command.by_hand, {command.tenant, "job.make", "batch"}, trail_of_batch(command.jobs)));
  }
  return EnqueueBatch::Answer{.made = std::move(made)};
}

Result<std::vector<EnqueuedJob>> carry_out(EnqueueRequests& command, Node& node, Round& round) {
  std::vector<NewJob> wanted;
  wanted.reserve(command.requests.size());
  const JobDefaults defaults = node.rules().job_defaults();
  for (JobRequest& request : command.requests) {
    wanted.push_back(new_job_of(std::move(request), round.now, defaults));
    TRY(node.rules().check_limits(wanted.back().tenant, wanted.back().options.limits));
  }
  std::vector<Enqueued> made;
  if (!command.all_or_none) {
    TRY_ASSIGN(Enqueued one, std::move(node.store().jobs().enqueue(wanted).front()));
    made.push_back(std::move(one));
  } else {
    TRY_ASSIGN(made, node.store().jobs().enqueue_all(wanted));
  }
  std::vector<EnqueuedJob> answers;
  answers.reserve(made.size());
  for (std::size_t i = 0; i < made.size(); ++i) answers.push_back(enqueued(round, wanted[i], made[i]));
  return answers;
}

Result<JobState> carry_out(const ActOnJob& command, Node& node, Round& round) {
  if (command.action == JobAction::run_now) TRY(node.rules().check_enabled());
  TRY_ASSIGN(const Changed change,
             std::move(node.store().jobs().act(command.tenant, command.action, std::array{command.id}).front()));
  const JobState state = changed(node, round, command.tenant, change);
  TRY(note(node, command.by, {command.tenant, word_of(command.action), format_job_id(command.id)},
           trail_of(change.before, change.after)));
  return state;
}

Result<JobState> carry_out(const ChangeJob& command, Node& node, Round& round) {
  if (command.patch.limits) TRY(node.rules().check_limits(command.tenant, *command.patch.limits));
  TRY_ASSIGN(const Changed made, node.store().jobs().patch(command.tenant, command.id, command.patch));
  const JobState state = changed(node, round, command.tenant, made);
  TRY(note(node, command.by, {command.tenant, "job.change", format_job_id(command.id)},
           trail_of(made.before, made.after)));
  return state;
}

Result<EnqueuedJob> carry_out(const RerunJob& command, Node& node, Round& round) {
  TRY_ASSIGN(const Enqueued made, std::move(node.store().jobs().enqueue({&command.job, 1}).front()));
  const EnqueuedJob answer = enqueued(round, command.job, made);
  TRY(note(node, command.by, {command.job.tenant, "job.rerun", format_job_id(command.like)},
           trail_of(command.job, made)));
  return answer;
}

Result<BulkInfo> carry_out(const BeginBulk& command, Node& node, Round& round) {
  const BulkRequest& request = command.request;
  TRY_ASSIGN(BulkInfo begun, node.bulk().begin(round, {.request = request, .total = command.total}));
  TRY(note(node, command.by, {request.query.tenant, "jobs.bulk", std::string(to_string(request.action))},
           trail_of(request, begun)));
  return begun;
}

Result<BulkInfo> carry_out(const StopBulk& command, Node& node, Round& round) {
  const DocumentKey key{.tenant = command.tenant, .kind = std::string(kBulkKind), .name = command.id};
  TRY_ASSIGN(const Document document, node.store().admin().document(key));
  TRY_ASSIGN(const BulkState before, read_bulk(document.body));
  TRY_ASSIGN(BulkInfo stopped, node.bulk().stop(round, command.tenant, command.id));
  TRY(note(node, command.by, {command.tenant, "bulk.stop", command.id}, trail_of_stop(before.info.state, stopped)));
  return stopped;
}

}  // namespace carillon::command
