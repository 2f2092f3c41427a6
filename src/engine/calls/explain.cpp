#include "engine/calls/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "core/jobs/json_members.h"
#include "core/time/slot_text.h"
#include "engine/calls/job_info.h"

namespace carillon {

namespace {

void add_created(Explanation& explanation, const JobInfo& job) {
  JsonObject detail;
  detail.text("origin", to_string(job.origin));
  if (!job.schedule.empty()) detail.text("schedule", job.schedule);
  if (job.slot) detail.text("slot", slot_text(job.slot, job.slot_kind));
  if (job.parent) detail.text("parent_id", format_job_id(job.parent));
  explanation.steps.push_back(
      {.at = job.created_at, .what = "created", .why = std::string(to_string(job.origin)), .detail = detail.str()});
}

std::string_view what_of(AttemptResult result) {
  switch (result) {
    case AttemptResult::ok: return "finished";
    case AttemptResult::error:
    case AttemptResult::timeout: return "failed";
    case AttemptResult::lease_lost: return "lease_lost";
    case AttemptResult::released:
    case AttemptResult::cancelled:
    case AttemptResult::rate_limited: return "held";
  }
  return "failed";
}

void add_attempts(Explanation& explanation, const JobInfo& job) {
  for (const AttemptInfo& attempt : job.attempts) {
    JsonObject claim;
    claim.integer("attempt", attempt.number).text("worker", attempt.worker).text("trigger", attempt.trigger);
    explanation.steps.push_back(
        {.at = attempt.started_at, .what = "claimed", .why = attempt.trigger, .detail = claim.str()});
    JsonObject end;
    end.integer("attempt", attempt.number);
    if (!attempt.error.empty()) end.text("error", attempt.error);
    if (!attempt.error_class.empty()) end.text("error_class", attempt.error_class);
    explanation.steps.push_back({.at = attempt.finished_at,
                                 .what = std::string(what_of(attempt.result)),
                                 .why = std::string(to_string(attempt.result)),
                                 .detail = end.str()});
  }
}

void add_deferrals(Explanation& explanation, const std::vector<DeferralRecord>& deferrals) {
  for (const DeferralRecord& deferral : deferrals) {
    JsonObject detail;
    if (deferral.until) detail.text("until", format_instant(*deferral.until));
    explanation.steps.push_back(
        {.at = deferral.at, .what = "deferred", .why = deferral.reason, .detail = detail.str()});
  }
}

// The attempt that runs now.
void add_claim(Explanation& explanation, const JobInfo& job) {
  if (!job.started_at) return;
  JsonObject claim;
  claim.integer("attempt", next_number(job)).text("worker", job.worker);
  if (job.cancel_requested) claim.boolean("cancel_requested", true);
  explanation.steps.push_back(
      {.at = *job.started_at, .what = "claimed", .why = next_trigger(job, job.attempt), .detail = claim.str()});
}

// Its reason in words, where there are such: of a dependency that was not met, which one.
std::string_view told_reason(const JobInfo& job) {
  return job.last_error_code == job.reason ? std::string_view(job.last_error) : std::string_view();
}

void add_finish(Explanation& explanation, const JobInfo& job) {
  if (!job.finished_at) return;
  JsonObject detail;
  detail.text("state", to_string(job.state));
  if (const std::string_view told = told_reason(job); !told.empty()) detail.text("error", told);
  explanation.steps.push_back({.at = *job.finished_at,
                               .what = "finished",
                               .why = job.reason.empty() ? std::string(to_string(job.state)) : job.reason,
                               .detail = detail.str()});
}

// Every reason that holds it is a step, the binding one last and in the summary.
void add_holds(Explanation& explanation, const JobFacts& facts) {
  for (const Hold& hold : facts.holds) {
    JsonObject detail;
    if (!hold.of.empty()) detail.text("of", hold.of);
    if (hold.until) detail.text("until", format_instant(*hold.until));
    explanation.steps.push_back({.at = facts.now,
                                 .what = hold.why == "retry_planned" ? "retry_planned" : "held",
                                 .why = hold.why,
                                 .detail = detail.str()});
  }
  if (!facts.holds.empty()) {
    const Hold& binding = facts.holds.back();
    explanation.summary = fmt::format("waiting: {}", binding.text);
    explanation.next_at = binding.until;
  } else {
    explanation.summary = facts.waits_for_slot ? "queued: due, waiting for a free slot"
                                               : "queued: due, waiting for a worker to ask for it";
    explanation.next_at = facts.job.run_at;
  }
}

}  // namespace

Explanation explain_job(const JobFacts& facts) {
  const JobInfo& job = facts.job;
  Explanation explanation;
  add_created(explanation, job);
  add_attempts(explanation, job);
  add_deferrals(explanation, facts.deferrals);
  std::ranges::sort(explanation.steps, [](const ExplainStep& a, const ExplainStep& b) { return a.at < b.at; });
  add_finish(explanation, job);
  switch (job.state) {
    case JobState::queued:
    case JobState::waiting: add_holds(explanation, facts); break;
    case JobState::processing:
      add_claim(explanation, job);
      explanation.summary = fmt::format("processing: attempt {} at {}{}", next_number(job), job.worker,
                                        job.cancel_requested ? ", asked to stop" : "");
      break;
    case JobState::dlq:
      explanation.summary =
          fmt::format("dlq: {} after {} attempt{}{}{}", job.reason, job.attempt, job.attempt == 1 ? "" : "s",
                      job.last_error.empty() ? "" : ": ", job.last_error);
      break;
    default:
      explanation.summary = fmt::format("{}{}{}{}{}", to_string(job.state), job.reason.empty() ? "" : ": ", job.reason,
                                        told_reason(job).empty() ? "" : ": ", told_reason(job));
      break;
  }
  return explanation;
}

std::string to_json(const Explanation& explanation) {
  JsonArray steps;
  for (const ExplainStep& step : explanation.steps) {
    JsonObject object;
    object.text("at", format_instant(step.at)).text("what", step.what).text("why", step.why);
    object.raw("detail", step.detail.empty() ? "{}" : step.detail);
    steps.raw(object.str());
  }
  JsonObject object;
  object.text("summary", explanation.summary);
  put(object, "next_at", explanation.next_at);
  object.raw("steps", steps.str());
  return object.str();
}

}  // namespace carillon
