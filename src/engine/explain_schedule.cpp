// Why a schedule, or one subject of it, ran, did not run, or waits.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json_writer.h"
#include "core/delivery.h"
#include "core/json_members.h"
#include "core/slot_text.h"
#include "engine/explain.h"

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
  if (open != facts.outcomes.end() && std::holds_alternative<DeliveryTrigger>(facts.schedule->trigger)) {
    word.summary = fmt::format("day {} is open: {}", slot_text(open->slot, *facts.schedule), job.summary);
  } else if (open != facts.outcomes.end() && open->until) {
    word.summary = fmt::format("the window from {} to {} is open: {}", format_instant(open->slot),
                               format_instant(*open->until), job.summary);
  } else {
    word.summary = fmt::format("a job is open: {}", job.summary);
  }
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
  if (std::holds_alternative<AdaptiveTrigger>(facts.schedule->trigger)) {
    word.summary = fmt::format("the next check is at {}{}", format_instant(*subject.next_at),
                               facts.state.cadence.empty() ? "" : fmt::format(" (cadence {})", facts.state.cadence));
    put(word.detail, "cadence_state", facts.state.cadence);
    put(word.detail, "expected_at", facts.state.expected_at);
  } else if (facts.next && facts.next->day && facts.next->end) {
    word.summary =
        fmt::format("next: day {}, from {} until its cutoff at {}", format_date(*facts.next->day),
                    format_instant(facts.next->begin.value_or(*facts.next->at)), format_instant(*facts.next->end));
    word.detail.text("day", format_date(*facts.next->day));
    put(word.detail, "cutoff", facts.next->end);
  } else if (facts.next && facts.next->begin && facts.next->end) {
    word.summary = fmt::format("next: the window from {} to {}, at {}", format_instant(*facts.next->begin),
                               format_instant(*facts.next->end), format_instant(*subject.next_at));
    put(word.detail, "window_start", facts.next->begin);
    put(word.detail, "window_end", facts.next->end);
  }
  return word;
}

Word word_of_no_time(const ScheduleFacts& facts) {
  const auto* const windows = std::get_if<WindowsTrigger>(&facts.schedule->trigger);
  const std::size_t most = windows != nullptr ? windows->max_backfill.value_or(0) : 0;
  if (windows != nullptr && most > 0 && facts.open_windows >= most) {
    Word word{.summary = fmt::format("{} windows are open, as many as may be: the next one is planned when one of "
                                     "them closes",
                                     facts.open_windows),
              .next_at = facts.open_job ? facts.open_job->next_at : std::nullopt,
              .held_why = "max_backfill"};
    word.detail.integer("open_windows", static_cast<std::int64_t>(facts.open_windows));
    return word;
  }
  if (facts.open_job) return word_of_open_job(facts);
  return {.summary = "exhausted: it has no further time", .next_at = {}, .held_why = {}};
}

Word word_of_subject(const ScheduleFacts& facts) {
  if (!facts.subject->enabled) {
    return {.summary = "disabled: nothing is planned until it is enabled", .next_at = {}, .held_why = "disabled"};
  }
  if (const AfterTrigger* const after = after_of(*facts.schedule)) {
    return {.summary = fmt::format("runs after {}", after->schedule), .next_at = {}, .held_why = {}};
  }
  if (!facts.subject->next_at) return word_of_no_time(facts);
  return facts.open_job && !open_job_is_parked(facts) ? word_of_open_job(facts) : word_of_next(facts);
}

// ---- A schedule as a whole ------------------------------------------------------------------------------------------

Word word_of_many(const ScheduleFacts& facts) {
  const std::int64_t subjects = facts.row.subjects;
  const std::string many = fmt::format("{} subject{}", subjects, subjects == 1 ? "" : "s");
  if (const AfterTrigger* const after = after_of(*facts.schedule)) {
    return {.summary = fmt::format("{}, each runs after {}", many, after->schedule), .next_at = {}, .held_why = {}};
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
  if (facts.schedule && after_of(*facts.schedule)) {
    return {
        .summary = fmt::format("runs after {}", after_of(*facts.schedule)->schedule), .next_at = {}, .held_why = {}};
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
