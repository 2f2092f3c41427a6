// Why a schedule, or one subject of it, ran, did not run, or waits.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json_writer.h"
#include "core/jobs/json_members.h"
#include "core/time/slot_text.h"
#include "engine/calls/explain.h"

namespace carillon {

namespace {

// What was decided, as of now.
struct Word {
  std::string summary;
  std::optional<Instant> next_at;
  std::string held_why;  // "": nothing holds it
  JsonObject detail{};
};

void add_outcome(Explanation& explanation, const ScheduleFacts& facts, const OutcomeRow& outcome) {
  const bool ended = outcome.outcome.has_value();
  const auto slot = [&](Instant at) { return facts.schedule ? slot_text(at, *facts.schedule) : format_instant(at); };
  JsonObject detail;
  detail.text("slot", slot(outcome.slot)).integer("count", outcome.count);
  if (outcome.until) detail.text("until", slot(*outcome.until));
  if (ended) detail.text("outcome", subject_status_text(outcome.outcome));
  if (outcome.parked) detail.text("outcome", "dlq");
  if (outcome.job) detail.text("job_id", format_job_id(outcome.job));
  std::string why = outcome.reason;
  if (why.empty()) why = ended ? std::string(to_string(*outcome.outcome)) : outcome.parked ? "dlq" : "scheduled";
  explanation.steps.push_back({.at = outcome.at.value_or(outcome.slot),
                               .what = ended            ? "finished"
                                       : outcome.parked ? "failed"
                                                        : "created",
                               .why = std::move(why),
                               .detail = detail.str()});
}

// ---- Kinds that plan each subject on its own terms
// -------------------------------------------------------------------

Word word_of_open_job(const ScheduleFacts& facts) {
  const Explanation& job = *facts.open_job;
  Word word{.summary = job.summary, .next_at = job.next_at, .held_why = {}};
  const auto open = std::ranges::find(facts.outcomes, facts.subject->open_job, &OutcomeRow::job);
  const TriggerKind& kind = kind_of(facts.schedule->trigger);
  std::optional<std::string> what;
  if (open != facts.outcomes.end() && kind.explain_open) {
    what = kind.explain_open({.slot = open->slot, .until = open->until});
  }
  word.summary = fmt::format("{} is open: {}", what.value_or("a job"), job.summary);
  return word;
}

// Nobody runs it until an operator decides, and the next one does not wait for that.
bool open_job_is_parked(const ScheduleFacts& facts) {
  return std::ranges::any_of(facts.outcomes, [&](const OutcomeRow& outcome) {
    return outcome.parked && outcome.job == facts.subject->open_job;
  });
}

Word word_of_next(const ScheduleFacts& facts) {
  const SubjectRow& subject = *facts.subject;
  Word word{.summary = fmt::format("next at {}", format_instant(*subject.next_at)),
            .next_at = subject.next_at,
            .held_why = "not_due"};
  const TriggerKind& kind = kind_of(facts.schedule->trigger);
  if (!kind.explain_next) return word;
  auto said = kind.explain_next({.next_at = *subject.next_at,
                                 .cadence = facts.state.cadence,
                                 .expected_at = facts.state.expected_at,
                                 .next = facts.next ? &*facts.next : nullptr});
  if (!said) return word;
  word.summary = std::move(said->summary);
  word.detail = std::move(said->detail);
  return word;
}

Word word_of_no_time(const ScheduleFacts& facts) {
  const TriggerKind& kind = kind_of(facts.schedule->trigger);
  auto said = kind.explain_no_time ? kind.explain_no_time(facts.schedule->trigger, facts.open_windows) : std::nullopt;
  if (said) {
    return {.summary = std::move(said->summary),
            .next_at = facts.open_job ? facts.open_job->next_at : std::nullopt,
            .held_why = std::string(said->why),
            .detail = std::move(said->detail)};
  }
  if (facts.open_job) return word_of_open_job(facts);
  return {.summary = "exhausted: it has no further time", .next_at = {}, .held_why = {}};
}

Word word_of_subject(const ScheduleFacts& facts) {
  if (!facts.subject->enabled) {
    return {.summary = "disabled: nothing is planned until it is enabled", .next_at = {}, .held_why = "disabled"};
  }
  if (const std::string* const followed = followed_by(*facts.schedule)) {
    return {.summary = fmt::format("runs after {}", *followed), .next_at = {}, .held_why = {}};
  }
  if (!facts.subject->next_at) return word_of_no_time(facts);
  return facts.open_job && !open_job_is_parked(facts) ? word_of_open_job(facts) : word_of_next(facts);
}

// ---- A schedule as a whole ------------------------------------------------------------------------------------------

Word word_of_many(const ScheduleFacts& facts) {
  const std::int64_t subjects = facts.row.subjects;
  const std::string many = fmt::format("{} subject{}", subjects, subjects == 1 ? "" : "s");
  if (const std::string* const followed = followed_by(*facts.schedule)) {
    return {.summary = fmt::format("{}, each runs after {}", many, *followed), .next_at = {}, .held_why = {}};
  }
  if (!facts.first_due) {
    return {.summary = fmt::format("{}, none of them has a next time", many), .next_at = {}, .held_why = {}};
  }
  return {.summary = fmt::format("{}, the next is {} at {}", many, quoted(facts.first_due->subject),
                                 format_instant(*facts.first_due->next_at)),
          .next_at = facts.first_due->next_at,
          .held_why = {}};
}

Word word_of_wall_clock(const ScheduleFacts& facts) {
  if (const std::string* const followed = facts.schedule ? followed_by(*facts.schedule) : nullptr) {
    return {.summary = fmt::format("runs after {}", *followed), .next_at = {}, .held_why = {}};
  }
  if (facts.subject && facts.subject->next_at) {
    return {.summary = fmt::format("next at {}", format_instant(*facts.subject->next_at)),
            .next_at = facts.subject->next_at,
            .held_why = {}};
  }
  return {.summary = "exhausted: it has no further time", .next_at = {}, .held_why = {}};
}

// A schedule on the wall clock that is its own only subject tells nothing but its occurrences.
bool tells_of_a_subject(const ScheduleFacts& facts) {
  return facts.schedule && facts.subject && (facts.schedule->fan_out || plans_by_subject(facts.schedule->trigger));
}

Word word_of(const ScheduleFacts& facts) {
  const auto still = standstill_of(facts.row, facts.now);
  const bool of_subject = facts.schedule && facts.schedule->fan_out && facts.subject;
  if (still && still->why == "disabled") {
    return {.summary = of_subject ? "disabled: its schedule is" : "disabled: nothing is planned until it is enabled",
            .next_at = {},
            .held_why = still->why};
  }
  if (still) {
    Word word{.summary = fmt::format("{}{}", of_subject ? "its schedule is " : "", still->text),
              .next_at = {},
              .held_why = still->why};
    put(word.detail, "until", still->until);
    return word;
  }
  if (tells_of_a_subject(facts)) return word_of_subject(facts);
  return facts.schedule && facts.schedule->fan_out ? word_of_many(facts) : word_of_wall_clock(facts);
}

// "; 3 in a row went wrong, the last one is parked: boom"
std::string trouble_text(const Trouble& trouble) {
  if (trouble.error_count == 0) return {};
  return fmt::format("; {} in a row went wrong{}{}{}", trouble.error_count,
                     trouble.last_outcome == JobState::dlq ? ", the last one is parked" : "",
                     trouble.last_error.empty() ? "" : ": ", trouble.last_error);
}

// Of many subjects no occurrence is shown: what went wrong among them is a step of its own.
void add_trouble(Explanation& explanation, const ScheduleFacts& facts) {
  if (facts.trouble.error_count == 0 || facts.subject) return;
  JsonObject detail;
  detail.integer("error_count", facts.trouble.error_count);
  put(detail, "last_error", facts.trouble.last_error);
  explanation.steps.push_back({.at = facts.now,
                               .what = "failed",
                               .why = std::string(subject_status_text(facts.trouble.last_outcome)),
                               .detail = detail.str()});
}

// By time; those of one instant as they came.
std::vector<ExplainStep> in_order(std::vector<ExplainStep> steps) {
  std::multimap<Instant, ExplainStep> by_time;
  for (ExplainStep& step : steps) by_time.emplace(step.at, std::move(step));
  steps.clear();
  for (auto& [at, step] : by_time) steps.push_back(std::move(step));
  return steps;
}

}  // namespace

Explanation explain_schedule(const ScheduleFacts& facts) {
  Explanation explanation;
  explanation.steps.push_back({.at = facts.row.created_at, .what = "created", .why = "api", .detail = "{}"});
  for (const OutcomeRow& outcome : facts.outcomes) add_outcome(explanation, facts, outcome);
  Word word = word_of(facts);
  if (tells_of_a_subject(facts)) {
    if (facts.open_job) {
      explanation.steps.insert(explanation.steps.end(), facts.open_job->steps.begin(), facts.open_job->steps.end());
    }
    explanation.steps = in_order(std::move(explanation.steps));
    if (!word.held_why.empty()) {
      explanation.steps.push_back({.at = facts.now, .what = "held", .why = word.held_why, .detail = word.detail.str()});
    }
  }
  add_trouble(explanation, facts);
  explanation.summary = word.summary + trouble_text(facts.trouble);
  explanation.next_at = word.next_at;
  return explanation;
}

}  // namespace carillon
