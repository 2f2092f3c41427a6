#include "engine/planning/schedule_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/mutant.h"
#include "engine/planning/subject_edits.h"

namespace carillon {

namespace {

// A chain of schedules that follow each other is no longer than this.
constexpr int kAfterChainMax = 100;

// Of kinds that plan each subject on its own terms, whatever those are.
bool fires_by_subject(const Schedule& schedule, Instant now) {
  return !schedule.ends_at || *schedule.ends_at > std::max(now, schedule.starts_at.value_or(now));
}

// Times of a timetable that are looked at, to see how close together they come.
constexpr int kPeriodsLookedAt = 10;

std::optional<Duration> shortest_period(const Timetable& timetable, Instant now) {
  std::optional<Duration> shortest;
  auto before = timetable.next(now);
  for (int i = 0; before && i < kPeriodsLookedAt; ++i) {
    const auto next = timetable.next(before->at);
    if (!next) break;
    shortest = std::min(shortest.value_or(kDurationMax), Duration(next->at - before->at));
    before = next;
  }
  return shortest;
}

// Of the kinds that say it.
std::optional<Duration> shortest_period(const Trigger& trigger) {
  const TriggerKind& kind = kind_of(trigger);
  return kind.shortest_period ? kind.shortest_period(trigger) : std::nullopt;
}

// With more, an occurrence would begin after those that come after it.
Result<void> check_jitter(const Schedule& schedule, std::optional<Duration> period) {
  if (!period || schedule.jitter <= *period) return {};
  auto refused = invalid_configuration(fmt::format("jitter {} is longer than the {} between two times of schedule {}",
                                                   format_duration(schedule.jitter), format_duration(*period),
                                                   quoted(schedule.name)));
  return std::unexpected(about_field("jitter", std::move(refused).error()));
}

std::string_view on_or_off(bool flag) { return flag ? "true" : "false"; }

}  // namespace

Result<void> ScheduleEdits::check_after(std::string_view tenant, const Schedule& schedule) {
  const std::string* followed = followed_by(schedule);
  std::string name = schedule.name;
  for (int i = 0; followed && i < kAfterChainMax; ++i) {
    if (*followed == schedule.name) {
      return invalid_configuration(
          fmt::format("schedule {} would follow itself, by way of {}", quoted(schedule.name), quoted(name)));
    }
    const auto parent = store_.plans().schedule(tenant, *followed);
    if (!parent) {
      return invalid_configuration(
          fmt::format("schedule {} follows {}, which does not exist", quoted(name), quoted(*followed)));
    }
    name = *followed;
    TRY_ASSIGN(const auto compiled, compiler_.compile(*parent));
    if (i == 0 && compiled->schedule.fan_out != schedule.fan_out) {
      return invalid_configuration(
          fmt::format("schedule {} follows {}, whose fan_out is {}: it must have the same, or it would never fire",
                      quoted(schedule.name), quoted(name), on_or_off(compiled->schedule.fan_out)));
    }
    followed = followed_by(compiled->schedule);
  }
  if (followed) return invalid_configuration(fmt::format("more than {} schedules follow each other", kAfterChainMax));
  return {};
}

Result<void> ScheduleEdits::check_limits_of(std::string_view tenant, const Schedule& schedule,
                                            const ScheduleRow* before) {
  const auto limits_of = [](const Schedule& one, bool at_cutoff) {
    if (!at_cutoff) return one.job.options.limits;
    return one.on_cutoff ? one.on_cutoff->options.limits : std::vector<std::string>();
  };
  const auto known = before ? parse_schedule(before->definition) : Result<Schedule>(Schedule());
  for (const bool at_cutoff : {false, true}) {
    const auto named_before = known ? limits_of(*known, at_cutoff) : std::vector<std::string>();
    if (auto there = rules_.check_limits(tenant, limits_of(schedule, at_cutoff), named_before); !there) {
      there.error().field = at_cutoff ? "on_cutoff.limits" : "job.limits";
      return std::unexpected(std::move(there).error());
    }
  }
  return {};
}

// Judged before it is written: a rule that never fires is refused; one without a further time only if it is new
// (invariant 26).
Result<void> ScheduleEdits::check_definition(const Put& put, const Schedule& schedule, const ScheduleRow* before,
                                             Instant now) {
  if (auto checked = check_after(put.tenant, schedule); !checked) {
    return std::unexpected(about_field("trigger.schedule", std::move(checked).error()));
  }
  TRY(check_windows(schedule, rules_.windows()));
  TRY(check_limits_of(put.tenant, schedule, before));
  if (before) {
    const auto compiled = compiler_.compile(*before);
    if (compiled && (*compiled)->schedule.fan_out != schedule.fan_out) {
      auto refused =
          invalid_configuration(fmt::format("schedule {} has fan_out {}, which cannot be changed: delete it "
                                            "and make it anew, or take another name",
                                            quoted(schedule.name), on_or_off(!schedule.fan_out)));
      return std::unexpected(about_field("fan_out", std::move(refused).error()));
    }
  }
  if (!has_times(schedule)) return {};
  TRY(check_jitter(schedule, shortest_period(schedule.trigger)));
  bool fires = fires_by_subject(schedule, now);
  if (!plans_by_subject(schedule.trigger)) {
    TRY_ASSIGN(const Timetable timetable,
               timetable_of(schedule, rules_.zone_of(put.tenant), before ? before->created_at : now));
    fires = timetable.next(now).has_value();
    TRY(check_jitter(schedule, shortest_period(timetable, now)));
  }
  if (!before && !fires) {
    auto never = invalid_configuration(
        fmt::format("schedule {} never fires: it has no time after {}", quoted(schedule.name), format_instant(now)));
    return std::unexpected(about_field("trigger", std::move(never).error()));
  }
  return {};
}

Result<ScheduleEdits::PutSchedule> ScheduleEdits::put(Round& round, const Put& put) {
  TRY_ASSIGN(Schedule schedule, parse_schedule(put.definition));
  TRY(settle_times(schedule, rules_.zone_of(put.tenant)));
  const auto known = store_.plans().schedule(put.tenant, schedule.name);
  const ScheduleRow* const before = known ? &*known : nullptr;
  TRY(check_definition(put, schedule, before, round.now));
  if (before && before->definition != write_schedule(schedule)) TRY(check_no_import(store_, put.tenant, schedule.name));
  if (before) TRY(due_.plan_what_is_due(round, *before));
  TRY_ASSIGN(ScheduleRow row, store_.plans().put_schedule({.tenant = std::string(put.tenant),
                                                           .name = schedule.name,
                                                           .definition = write_schedule(schedule),
                                                           .enabled = schedule.enabled,
                                                           .if_revision = put.if_revision}));
  if (before && before->revision == row.revision) {
    // Nothing changed. The answer to the call that put it may have been lost, and with it what the memory should know.
    TRY(index_.remember(round, row));
    return PutSchedule{.row = std::move(row), .definition_before = before->definition};
  }
  TRY_ASSIGN(row, take_effect(round, std::move(row), before));
  return PutSchedule{.row = std::move(row),
                     .definition_before = before ? std::optional(before->definition) : std::nullopt};
}

Result<ScheduleRow> ScheduleEdits::take_effect(Round& round, ScheduleRow row, const ScheduleRow* before) {
  TRY_ASSIGN(const auto compiled, compiler_.compile(row));
  const bool goes_on = before && !before->enabled && row.enabled;
  if (compiled->schedule.fan_out) {
    // The time until now had no occurrences, as after a pause: each subject learns of it when its time comes.
    if (goes_on) {
      TRY_ASSIGN(row, store_.plans().set_paused(row.tenant, row.name, round.now));
    }
    if (before) TRY(replans_.begin(round, row, *before));
  } else {
    using What = SubjectChange::What;
    const What what = goes_on ? What::resumed : before ? What::edited : What::made;
    TRY(subjects_.anchor_only(round, {row, *compiled}, {.what = what, .at = round.now, .cursor_end = {}}));
  }
  TRY(index_.remember(round, row));
  index_.forget_traits(round, row.id);
  index_.count_open_days(round, row);
  return row;
}

Result<ScheduleRow> ScheduleEdits::pause(Round& round, std::string_view tenant, std::string_view name,
                                         std::optional<Instant> until) {
  TRY_ASSIGN(const ScheduleRow before, store_.plans().schedule(tenant, name));
  TRY(due_.plan_what_is_due(round, before));
  if (until && *until <= round.now) {
    return invalid_field(
        "until", fmt::format("cannot pause schedule {} until {}: that is past", quoted(name), format_instant(*until)));
  }
  TRY_ASSIGN(ScheduleRow row, store_.plans().set_paused(tenant, name, until.value_or(kInstantMax)));
  // More was due than fits into one round: the rest is planned behind it, as of now.
  TRY_ASSIGN(const std::optional<Instant> next_at, store_.plans().next_subject_at(row.id));
  if (runs_at(before, round.now) && next_at && *next_at <= round.now) TRY(replans_.begin(round, row, before));
  TRY(index_.remember(round, row));
  return row;
}

Result<ScheduleRow> ScheduleEdits::resume(Round& round, std::string_view tenant, std::string_view name) {
  TRY_ASSIGN(ScheduleRow before, store_.plans().schedule(tenant, name));
  TRY_ASSIGN(const auto compiled, compiler_.compile(before));
  const bool fans_out = compiled->schedule.fan_out;
  const bool has_ended = before.paused_until && *before.paused_until <= round.now;
  if (!before.paused_until || (fans_out && has_ended)) {
    TRY(index_.remember(round, before));
    return before;
  }
  if (has_ended) TRY(due_.plan_what_is_due(round, before));
  // With subjects by the million the pause stays as an interval, which each of them meets in its own time.
  TRY_ASSIGN(ScheduleRow row,
             store_.plans().set_paused(tenant, name, fans_out ? std::optional(round.now) : std::nullopt));
  if (!fans_out) {
    const Instant from = mutant(Mutant::paused_time_caught_up) ? before.updated_at : round.now;
    TRY(subjects_.anchor_only(round, {row, *compiled},
                              {.what = SubjectChange::What::resumed, .at = from, .cursor_end = {}}));
  }
  TRY(index_.remember(round, row));
  return row;
}

Result<DeletedSchedule> ScheduleEdits::remove(Round& round, std::string_view tenant, std::string_view name) {
  TRY_ASSIGN(const ScheduleRow row, store_.plans().schedule(tenant, name));
  TRY(check_no_import(store_, tenant, name));
  TRY(due_.plan_what_is_due(round, row));
  TRY_ASSIGN(DeletedSchedule deleted, store_.plans().delete_schedule(tenant, name));
  note_moved(round, deleted.cancelled);
  if (replans_.contains(row.id)) TRY(store_.admin().delete_document(replan_key(tenant, name), std::nullopt));
  if (!deleted.end) background_.go_on_cancelling(round, row.id, deleted.next_after);
  index_.forget(round, row.id);
  return deleted;
}

}  // namespace carillon
