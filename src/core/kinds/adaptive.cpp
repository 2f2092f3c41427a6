// adaptive: checks that come closer together the nearer a subject's expected time is. (S2)
#include "core/kinds/adaptive.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/jobs/job_fields.h"
#include "core/jobs/json_members.h"
#include "core/kinds/kind_fields.h"
#include "core/policies/jitter.h"
#include "core/triggers/trigger_kind.h"

namespace carillon {

namespace {

// Works out times of checks. All chance in it is a hash of the subject and the slot before.
class Cadence {
 public:
  Cadence(const PlanFacts& facts, const AdaptiveTrigger& trigger, Instant now)
      : facts_(facts), trigger_(trigger), now_(now), band_(band_at(trigger, facts.expected_at, now)) {}
  Cadence(const Cadence&) = delete;
  Cadence& operator=(const Cadence&) = delete;
  ~Cadence() = default;

  const AdaptiveTrigger::Band* band() const { return band_; }

  // How far apart checks are now, by the band in force.
  Duration step(Instant slot) const {
    const Duration every = point(band_ ? band_->every : trigger_.otherwise, slot);
    return std::clamp(every, floor(), std::max(floor(), trigger_.ceiling.value_or(kDurationMax)));
  }

  // `step` after `base`, or earlier if a faster band begins before that; the floor counts last.
  Instant bounded(Instant base, Duration step, Instant slot) const {
    Instant at = add_clamped(base, step);
    for (const AdaptiveTrigger::Band& band : trigger_.bands) {
      if (!facts_.expected_at) break;
      const Instant begin = add_clamped(*facts_.expected_at, -band.within);
      if (begin > now_) at = std::min(at, add_clamped(begin, point(band.every, slot)));
    }
    return std::max(at, add_clamped(base, floor()));
  }

  // From `from` on, so that many that were asked at the same time are not all due at the same time.
  Instant spread(Instant from, Instant slot) const {
    const Instant last = bounded(from, step(slot), slot);
    return from + hashed(last - from, slot);
  }

  // The check after that of `slot`, which is made now.
  Instant after(Instant slot) const {
    const Duration apart = step(slot);
    Instant next = bounded(slot, apart, slot);
    if (next <= now_) {
      // Late by more than a whole step: it goes on from now, and at no fixed distance from the others.
      const Duration half = apart / 2;
      next = bounded(now_, half + hashed(half, slot), slot);
    }
    return std::max(next, add_clamped(now_, floor()));
  }

 private:
  Duration floor() const { return trigger_.floor.value_or(kEveryMin); }

  Duration hashed(Duration width, Instant slot) const {
    return jitter_of(
        {.tenant = facts_.tenant, .schedule = facts_.schedule.name, .subject = facts_.subject, .slot = slot}, width);
  }

  Duration point(const CheckSpan& span, Instant slot) const { return span.min + hashed(span.max - span.min, slot); }

  const PlanFacts& facts_;
  const AdaptiveTrigger& trigger_;
  Instant now_;
  const AdaptiveTrigger::Band* band_;
};

std::optional<Instant> until_end(const Schedule& schedule, Instant at) {
  return schedule.ends_at && at > *schedule.ends_at ? std::nullopt : std::optional(at);
}

bool has_open_check(const PlanFacts& facts) {
  return std::ranges::any_of(facts.open, [](const OpenJob& job) { return is_open(job.state); });
}

NewJob job_of_check(const PlanFacts& facts, Instant slot) {
  const Schedule& schedule = facts.schedule;
  NewJob job = job_of_subject(schedule.job, facts.tenant, facts.overrides);
  job.options.origin = Origin::scheduled;
  job.options.yields = true;
  const JitterKey key{.tenant = facts.tenant, .schedule = schedule.name, .subject = facts.subject, .slot = slot};
  job.run_at = add_clamped(slot, jitter_of(key, schedule.jitter));
  job.occurrence = OccurrenceKey{.schedule = schedule.name,
                                 .subject = std::string(facts.subject),
                                 .slot = slot,
                                 .until = std::nullopt,
                                 .local_minute = local_minute_of(facts.zone.to_local(slot))};
  return job;
}

// An outage of days must not leave a row for every check that it delayed.
ClosedOccurrences check_open(const PlanFacts& facts, Instant slot) {
  ClosedOccurrences closed{.first = slot,
                           .until = std::nullopt,
                           .count = 1,
                           .outcome = JobState::skipped,
                           .reason = std::string(kReasonCheckOpen),
                           .local_minute = local_minute_of(facts.zone.to_local(slot))};
  const std::optional<ClosedRange>& last = facts.last_closed;
  if (!last || last->reason != kReasonCheckOpen || facts.position != last->last) return closed;
  closed.first = last->first;
  closed.until = slot;
  closed.extends = true;
  return closed;
}

}  // namespace

const AdaptiveTrigger::Band* band_at(const AdaptiveTrigger& trigger, std::optional<Instant> expected_at, Instant now) {
  if (!expected_at) return nullptr;
  const Duration away = *expected_at > now ? *expected_at - now : now - *expected_at;
  const auto found = std::ranges::find_if(trigger.bands, [&](const auto& band) { return away <= band.within; });
  return found == trigger.bands.end() ? nullptr : &*found;
}

std::string cadence_name(const AdaptiveTrigger::Band* band) {
  return band == nullptr ? "otherwise" : format_duration(band->within);
}

namespace {

// ---- Read -------------------------------------------------------------------------------------------------------

constexpr auto kAdaptiveFields = field_names("kind", "bands", "otherwise", "floor", "ceiling");
constexpr auto kBandFields = field_names("within", "every");
constexpr auto kAdaptiveSubjectFields = field_names("expected_at");

// "10m", or ["4h", "6h"]: between these.
Result<CheckSpan> check_span(std::string_view text, const JsonFields& fields, std::string_view name) {
  const Json* const value = fields.optional(name);
  if (value == nullptr) return fields.missing(name, "a duration, or a pair of them");
  const std::string path = fields.path_of(name);
  CheckSpan span;
  if (value->type == JsonType::array) {
    if (value->items.size() != 2) {
      return fields.fail(*value, name,
                         fmt::format("expected a duration or a pair of them, found {}", value->items.size()));
    }
    TRY_ASSIGN(span.min, read_json_duration(text, value->items[0], path + "[0]"));
    TRY_ASSIGN(span.max, read_json_duration(text, value->items[1], path + "[1]"));
    if (span.max < span.min) {
      return cannot_work(fields.fail(*value, name,
                                     fmt::format("the pair is reversed: {} is longer than {}",
                                                 format_duration(span.min), format_duration(span.max))));
    }
  } else {
    TRY_ASSIGN(span.min, read_json_duration(text, *value, path));
    span.max = span.min;
  }
  TRY(check_bounds(fields, name, span.min, {.min = kEveryMin}));
  return span;
}

Result<void> read_bands(std::string_view text, const JsonFields& fields, std::vector<AdaptiveTrigger::Band>& bands) {
  constexpr std::string_view kName = "bands";
  TRY_ASSIGN(const Json* const list, fields.optional(kName, JsonType::array));
  if (list == nullptr) return {};
  if (list->items.size() > kBandsMax) {
    return fields.fail(*list, kName,
                       fmt::format("has {} bands; at most {} are allowed", list->items.size(), kBandsMax));
  }
  for (const Json& item : list->items) {
    const std::string path = fmt::format("{}[{}]", fields.path_of(kName), bands.size());
    if (item.type != JsonType::object) {
      return json_error(text, item.offset, path, fmt::format("expected an object, found {}", describe(item.type)));
    }
    TRY_ASSIGN(JsonFields band, JsonFields::of(text, item, path, kBandFields));
    AdaptiveTrigger::Band& read = bands.emplace_back();
    TRY_ASSIGN(read.within, required_duration(text, band, "within"));
    TRY(check_bounds(band, "within", read.within, {.min = kEveryMin}));
    TRY_ASSIGN(read.every, check_span(text, band, "every"));
    if (bands.size() > 1 && read.within <= bands[bands.size() - 2].within) {
      return cannot_work(
          band.fail(*band.optional("within"), "within",
                    fmt::format("bands go from near to far, and {} is not further than {}",
                                format_duration(read.within), format_duration(bands[bands.size() - 2].within))));
    }
  }
  return {};
}

Result<Trigger> read_adaptive(std::string_view text, const JsonFields& fields) {
  AdaptiveTrigger trigger;
  TRY(read_bands(text, fields, trigger.bands));
  TRY_ASSIGN(trigger.otherwise, check_span(text, fields, "otherwise"));
  TRY(read_bounded(text, fields, "floor", {.min = kEveryMin}, trigger.floor));
  TRY(read_bounded(text, fields, "ceiling", {.min = kEveryMin}, trigger.ceiling));
  if (trigger.floor && trigger.ceiling && *trigger.floor > *trigger.ceiling) {
    return cannot_work(fields.fail(*fields.optional("floor"), "floor",
                                   fmt::format("{} is more than the ceiling of {}", format_duration(*trigger.floor),
                                               format_duration(*trigger.ceiling))));
  }
  return trigger;
}

// ---- Plan -------------------------------------------------------------------------------------------------------

std::optional<Duration> shortest_step(const Trigger& trigger) {
  const auto& adaptive = std::get<AdaptiveTrigger>(trigger);
  Duration shortest = adaptive.otherwise.min;
  for (const auto& band : adaptive.bands) shortest = std::min(shortest, band.every.min);
  return shortest;
}

SubjectPlan plan_check(const PlanFacts& facts) {
  SubjectPlan plan;
  plan.position = facts.position;
  if (!facts.next_at) return plan;
  Instant slot = *facts.next_at;
  if (facts.position) slot = std::max(slot, *facts.position + Duration(1));
  plan.next_at = until_end(facts.schedule, slot);
  if (!plan.next_at || slot > facts.now) return plan;
  if (has_open_check(facts)) {
    plan.closed.push_back(check_open(facts, slot));
  } else {
    plan.jobs.push_back(job_of_check(facts, slot));
  }
  const Cadence cadence(facts, std::get<AdaptiveTrigger>(facts.schedule.trigger), facts.now);
  plan.position = slot;
  plan.next_at = until_end(facts.schedule, up_to_millisecond(cadence.after(slot)));
  plan.cadence = cadence_name(cadence.band());
  return plan;
}

SubjectPlan anchor_check(const PlanFacts& facts, const SubjectChange& change) {
  const Instant from = facts.schedule.starts_at ? std::max(change.at, *facts.schedule.starts_at) : change.at;
  const Cadence cadence(facts, std::get<AdaptiveTrigger>(facts.schedule.trigger), from);
  SubjectPlan plan;
  plan.position = facts.position;
  plan.cadence = cadence_name(cadence.band());
  const Instant slot = facts.position.value_or(Instant());
  Instant next = kInstantMin;
  if (facts.position) next = cadence.bounded(slot, cadence.step(slot), slot);
  if (next <= from) {
    // It was never checked, or by now it would have been. One change after the other must not delay it for ever.
    next = cadence.spread(from, slot);
    const bool was_ahead = change.what == SubjectChange::What::edited && facts.next_at && *facts.next_at > from;
    if (was_ahead) next = std::min(next, *facts.next_at);
  }
  plan.next_at = until_end(facts.schedule, up_to_millisecond(next));
  return plan;
}

// ---- Explain ----------------------------------------------------------------------------------------------------

std::optional<KindWord> explain_next_check(const SubjectNow& now) {
  KindWord word{.summary = fmt::format("the next check is at {}{}", format_instant(now.next_at),
                                       now.cadence.empty() ? "" : fmt::format(" (cadence {})", now.cadence))};
  put(word.detail, "cadence_state", now.cadence);
  put(word.detail, "expected_at", now.expected_at);
  return word;
}

}  // namespace

const TriggerKind& AdaptiveTrigger::kind() {
  constexpr std::string_view kOwnRule = "it has a rule of its own";
  static const TriggerKind row{
      .name = "adaptive",
      .traits = {.plans_by_subject = true, .has_subjects = true, .has_expected_time = true, .runs_open_job_now = true},
      .fields = kAdaptiveFields,
      .read = read_adaptive,
      .refused = {.misfire = kOwnRule, .overlap = kOwnRule, .exclude_dates = "it does not go by dates"},
      .subject_fields = kAdaptiveSubjectFields,
      .shortest_period = shortest_step,
      .plan = plan_check,
      .anchor = anchor_check,
      .explain_next = explain_next_check};
  return row;
}

}  // namespace carillon
