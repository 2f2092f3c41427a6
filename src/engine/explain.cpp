#include "engine/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "core/json_members.h"
#include "core/slot_text.h"

namespace carillon {

namespace {

void add_created(Explanation& explanation, const JobInfo& job) {
  JsonObject detail;
  detail.text("origin", to_string(job.origin));
  if (!job.schedule.empty()) detail.text("schedule", job.schedule);
  if (job.slot) detail.text("slot", slot_text(*job.slot, job.deadline));
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
  claim.integer("attempt", job.attempt).text("worker", job.worker);
  explanation.steps.push_back({.at = *job.started_at,
                               .what = "claimed",
                               .why = job.attempts.empty() ? std::string(to_string(job.origin)) : "retry",
                               .detail = claim.str()});
}

void add_finish(Explanation& explanation, const JobInfo& job) {
  if (!job.finished_at) return;
  JsonObject detail;
  detail.text("state", to_string(job.state));
  explanation.steps.push_back({.at = *job.finished_at,
                               .what = "finished",
                               .why = job.reason.empty() ? std::string(to_string(job.state)) : job.reason,
                               .detail = detail.str()});
}

struct Holding {
  std::string why;
  std::string text;
  std::optional<Instant> until;
};

std::string until_text(std::optional<Instant> until) {
  return until ? fmt::format(" until {}", format_instant(*until)) : " until that is lifted";
}

// What keeps a queued job from starting; nothing: only a free slot.
std::optional<Holding> holding_of(const JobFacts& facts) {
  const JobInfo& job = facts.job;
  if (facts.schedule_is) {
    return Holding{.why = *facts.schedule_is, .text = fmt::format("its schedule is {}", *facts.schedule_is)};
  }
  if (facts.subject_is_disabled) return Holding{.why = "disabled", .text = "its subject is disabled"};
  if (job.run_at > facts.now) {
    if (!job.defer_reason.empty()) {
      return Holding{.why = job.defer_reason,
                     .text = fmt::format("{}{}", job.defer_reason, until_text(job.deferred_until)),
                     .until = job.run_at};
    }
    const bool retry = !job.attempts.empty() && job.attempts.back().result != AttemptResult::released;
    const std::string why = retry ? "retry_planned" : "not_due";
    return Holding{
        .why = why,
        .text = fmt::format("{} {}", retry ? "the next attempt is at" : "it is due at", format_instant(job.run_at)),
        .until = job.run_at};
  }
  if (facts.gate) {
    return Holding{
        .why = facts.gate->reason,
        .text = fmt::format("{} of tenant {}{}", facts.gate->reason, job.tenant, until_text(facts.gate->until)),
        .until = facts.gate->until};
  }
  if (facts.held_by) return Holding{.why = *facts.held_by, .text = fmt::format("held by {}", *facts.held_by)};
  return std::nullopt;
}

void explain_queued(Explanation& explanation, const JobFacts& facts) {
  const auto holding = holding_of(facts);
  if (!holding) {
    explanation.summary = "queued: due, waiting for a free slot";
    explanation.next_at = facts.job.run_at;
    return;
  }
  explanation.summary = fmt::format("waiting: {}", holding->text);
  explanation.next_at = holding->until;
  const bool planned = holding->why == "retry_planned";
  explanation.steps.push_back(
      {.at = facts.now, .what = planned ? "retry_planned" : "held", .why = holding->why, .detail = "{}"});
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
    case JobState::queued: explain_queued(explanation, facts); break;
    case JobState::waiting:
      explanation.summary =
          fmt::format("waiting: for {} other job{}", job.depends_on.size(), job.depends_on.size() == 1 ? "" : "s");
      explanation.steps.push_back({.at = facts.now, .what = "held", .why = "dependency", .detail = "{}"});
      break;
    case JobState::processing:
      add_claim(explanation, job);
      explanation.summary = fmt::format("processing: attempt {} at {}{}", job.attempt, job.worker,
                                        job.cancel_requested ? ", asked to stop" : "");
      break;
    case JobState::dlq:
      explanation.summary =
          fmt::format("dlq: {} after {} attempt{}{}{}", job.reason, job.attempt, job.attempt == 1 ? "" : "s",
                      job.last_error.empty() ? "" : ": ", job.last_error);
      break;
    default:
      explanation.summary = fmt::format("{}{}{}", to_string(job.state), job.reason.empty() ? "" : ": ", job.reason);
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
