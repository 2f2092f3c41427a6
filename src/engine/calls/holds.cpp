#include "engine/calls/holds.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace carillon {

namespace {

std::string until_text(std::optional<Instant> until) {
  return until ? fmt::format(" until {}", format_instant(*until)) : " until that is lifted";
}

std::string clock_text(Instant at, const Zone& zone) {
  const std::chrono::hh_mm_ss time(zone.to_local(at) - std::chrono::floor<std::chrono::days>(zone.to_local(at)));
  return fmt::format("{:02}:{:02} {}", time.hours().count(), time.minutes().count(), zone.name());
}

Hold timed(std::string why, std::string text, Instant until) {
  return {.why = std::move(why), .text = std::move(text), .ends = Hold::Ends::in_time, .until = until};
}

Hold closed(std::string why, std::string text, std::optional<Instant> until) {
  return {.why = std::move(why),
          .text = std::move(text),
          .ends = until ? Hold::Ends::in_time : Hold::Ends::when_lifted,
          .until = until};
}

Hold still(std::string why, std::string of, std::string text) {
  return {.why = std::move(why), .text = std::move(text), .of = std::move(of)};
}

class Holds {
 public:
  Holds(const JobInfo& job, const HoldFacts& facts) : job_(job), facts_(facts) {}

  std::vector<Hold> in_order() && {
    add_contention();
    add_time();
    add_gates();
    add_standstills();
    std::vector<std::size_t> order(holds_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    // Of those that end alike, in the order above.
    std::ranges::sort(
        order, {}, [&](std::size_t i) { return std::tuple(holds_[i].ends, holds_[i].until.value_or(kInstantMin), i); });
    std::vector<Hold> ordered;
    ordered.reserve(order.size());
    for (const std::size_t i : order) ordered.push_back(std::move(holds_[i]));
    return ordered;
  }

 private:
  // Who is not due has not come to the caps: they may be free by then. What is known to last longer is not.
  bool is_due() const {
    return job_.state == JobState::queued && job_.run_at <= facts_.now && !facts_.place.released_at;
  }
  bool outlasts_its_time(std::optional<Instant> until) const { return is_due() || (until && *until > due_at()); }
  Instant due_at() const { return std::max(job_.run_at, facts_.place.released_at.value_or(job_.run_at)); }

  void add_contention() {
    const PlaceHolds& place = facts_.place;
    if (!place.is_served && !place.has_worker && is_due()) {
      holds_.push_back(
          {.why = "no_worker",
           .text = fmt::format("no_worker: nobody asks for jobs of type {} in queue {}", job_.type, job_.queue),
           .ends = Hold::Ends::when_others_move});
    }
    for (const ReadySet::Held& held : place.held_by) {
      if (!outlasts_its_time(held.until)) continue;
      const std::string until = held.until ? until_text(held.until) : "";
      holds_.push_back({.why = held.why,
                        .text = fmt::format("held by {}{}", held.why, until),
                        .ends = held.until ? Hold::Ends::in_time : Hold::Ends::when_others_move,
                        .until = held.until});
    }
  }

  void add_time() {
    if (const auto released = facts_.place.released_at) {
      holds_.push_back(timed("not_due",
                             fmt::format("the gate has opened, and those that it held start one after the other: this "
                                         "one at {}",
                                         format_instant(*released)),
                             *released));
    }
    if (job_.run_at <= facts_.now) return;
    if (!job_.defer_reason.empty() && !is_open_gate(job_.defer_reason)) {
      if (is_gate(job_.defer_reason)) return;  // which holds it still, and tells so itself
      holds_.push_back(timed(job_.defer_reason, fmt::format("{}{}", job_.defer_reason, until_text(job_.deferred_until)),
                             job_.run_at));
      return;
    }
    const bool is_retry = !job_.attempts.empty() && job_.attempts.back().result != AttemptResult::released;
    holds_.push_back(
        timed(is_retry ? "retry_planned" : "not_due",
              fmt::format("{} {}", is_retry ? "the next attempt is at" : "it is due at", format_instant(job_.run_at)),
              job_.run_at));
  }

  static bool is_gate(const std::string& reason) { return reason == "maintenance" || reason == "quiet_hours"; }
  // Put back by a gate that is open by now.
  bool is_open_gate(const std::string& reason) const {
    const RuleBook::Held& rules = facts_.rules;
    if (reason == "maintenance") return !rules.maintenance && !rules.maintenance_for_all;
    return reason == "quiet_hours" && !rules.quiet_hours;
  }

  void add_gate(std::string why, const std::string& reason, const std::optional<Closing>& gate,
                const std::string& text) {
    if (!gate) return;
    // A gate that put the job back holds it until the job's own turn after it; one that is open again when the job's
    // time comes does not hold it.
    const bool put_back = job_.defer_reason == reason && job_.run_at > facts_.now;
    if (gate->until && *gate->until <= due_at() && !put_back) return;
    const auto until = gate->until && put_back ? std::max(*gate->until, job_.run_at) : gate->until;
    holds_.push_back(closed(std::move(why), text, until));
  }

  void add_gates() {
    const RuleBook::Held& rules = facts_.rules;
    if (const auto& quiet = rules.quiet_hours) {
      add_gate("quiet_hours", "quiet_hours", quiet,
               fmt::format("quiet hours of tenant {}{}{} [quiet_hours]", job_.tenant, quiet->until ? " until " : "",
                           quiet->until ? clock_text(*quiet->until, rules.quiet_zone) : ""));
    }
    if (const auto& own = rules.maintenance) {
      add_gate("maintenance", "maintenance", own,
               fmt::format("maintenance of tenant {}{}", job_.tenant, until_text(own->until)));
    }
    if (const auto& all = rules.maintenance_for_all) {
      add_gate("maintenance:all", "maintenance", all,
               fmt::format("maintenance for all tenants{} [maintenance:all]", until_text(all->until)));
    }
  }

  // From the narrowest to the widest; but a job that waits for others has not even come to these.
  void add_standstills() {
    if (facts_.subject_is_disabled) holds_.push_back(still("disabled", "subject", "its subject is disabled"));
    if (facts_.schedule) {
      auto standstill = standstill_of(*facts_.schedule, facts_.now);
      if (standstill && !(standstill->until && *standstill->until <= due_at())) {
        standstill->text = "its schedule is " + standstill->text;
        holds_.push_back(*std::move(standstill));
      }
    }
    if (facts_.place.queue_is_paused) {
      holds_.push_back(still("paused", "queue", fmt::format("queue {} is paused", job_.queue)));
    }
    if (facts_.rules.is_paused) {
      holds_.push_back(still("paused", "tenant", fmt::format("tenant {} is paused", job_.tenant)));
    }
    if (!facts_.rules.is_enabled) {
      holds_.push_back(still("disabled", "engine", "the scheduler is disabled for all by its configuration"));
    }
    if (job_.state != JobState::waiting) return;
    const std::size_t parents = job_.waits_for.size();
    holds_.push_back(still("dependency", {}, fmt::format("for {} other job{}", parents, parents == 1 ? "" : "s")));
  }

  const JobInfo& job_;
  const HoldFacts& facts_;
  std::vector<Hold> holds_;
};

}  // namespace

std::optional<Hold> standstill_of(const ScheduleRow& row, Instant now) {
  if (!row.enabled) return still("disabled", "schedule", "disabled");
  if (!row.paused_until || *row.paused_until <= now) return std::nullopt;
  if (*row.paused_until == kInstantMax) return still("paused", "schedule", "paused until it is resumed");
  Hold hold = timed("paused", fmt::format("paused{}", until_text(row.paused_until)), *row.paused_until);
  hold.of = "schedule";
  return hold;
}

std::vector<Hold> holds_of(const JobInfo& job, const HoldFacts& facts) { return Holds(job, facts).in_order(); }

}  // namespace carillon
