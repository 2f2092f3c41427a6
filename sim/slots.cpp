#include "sim/slots.h"

#include <algorithm>

#include "core/schedules/schedule.h"
#include "sim/calendar.h"

namespace carillon::sim {

namespace {

bool has_times(const ScheduleSpec* spec) { return spec && spec->kind != Kind::after && !spec->fan_out; }

}  // namespace

Slots::Touched& Slots::touch(ScheduleId id) {
  const auto [found, is_new] = touched_.try_emplace(id);
  if (is_new) {
    if (const auto known = schedules_.find(id); known != schedules_.end()) found->second.before = known->second;
  }
  return found->second;
}

void Slots::put_schedule(const ScheduleRow& row) {
  Touched& touched = touch(row.id);
  touched.is_put = true;
  Entry& entry = schedules_[row.id];
  const bool same = entry.row.definition == row.definition && entry.row.created_at == row.created_at;
  entry.row = row;
  if (same && entry.spec) return;
  entry.spec = specs_.schedule(row.definition);
  findings_.expect(entry.spec != nullptr, 4, "schedule {} was stored, but nobody put it", row.name);
  entry.timetable.reset();
  if (!entry.spec || (entry.spec->kind != Kind::cron && entry.spec->kind != Kind::rrule)) return;
  if (entry.spec->is_from_creation()) return;
  const auto schedule = parse_schedule(row.definition);
  if (!schedule) return findings_.add(26, "the stored definition of {} cannot be read", row.name);
  auto timetable = timetable_of(*schedule, Zone::utc(), row.created_at);
  if (timetable) entry.timetable = *std::move(timetable);
}

void Slots::put_subject(const SubjectRow& row) {
  Touched& touched = touch(row.schedule);
  const auto found = schedules_.find(row.schedule);
  if (found == schedules_.end()) return;
  Entry& entry = found->second;
  findings_.expect(!entry.position || (row.position && *row.position >= *entry.position), 1, "the position of {} fell",
                   entry.row.name);
  if (row.deleted_at) return;
  if (row.next_at != entry.stored_next || row.position != entry.position) touched.subject_put = true;
  entry.stored_next = row.next_at;
  // Of one that follows another the position only guards what was pruned.
  entry.position = row.position;
}

void Slots::erase_subject(ScheduleId id) {
  if (const auto found = schedules_.find(id); found != schedules_.end()) found->second.position.reset();
  std::erase_if(made_, [&](const auto& key) { return key.first == id; });
}

void Slots::insert_job(const JobRow& row) {
  findings_.expect(made_.emplace(row.schedule, *row.slot).second, 1, "slot {} of schedule {} became a job twice",
                   ShownTime{*row.slot}, row.schedule.value);
  if (const auto undone = undone_.find({row.schedule, *row.slot}); undone != undone_.end()) {
    // One that follows another runs when that is done.
    const auto owner = schedules_.find(row.schedule);
    const bool is_timed = owner != schedules_.end() && has_times(owner->second.spec);
    findings_.expect(!is_timed || undone->second == row.run_at, 15,
                     "slot {} was to run at {}, and after a failed write at {}", ShownTime{*row.slot},
                     ShownTime{undone->second}, ShownTime{row.run_at});
    undone_.erase(undone);
  }
  touch(row.schedule).jobs.push_back(*row.slot);
}

void Slots::note_undone(const JobRow& row) { undone_.emplace(std::pair(row.schedule, *row.slot), row.run_at); }

void Slots::close(const OutcomeRow& row) { touch(row.schedule).closed.push_back(row); }

void Slots::job_done(const LiveJob& job) {
  if (job.row.schedule && job.row.slot) done_.emplace_back(job.row.schedule, *job.row.slot);
}

std::optional<Instant> Slots::slot_after(const Entry& entry, Instant after) const {
  if (entry.timetable) {
    const auto next = entry.timetable->next(after);
    return next ? std::optional(next->at) : std::nullopt;
  }
  return next_slot(*entry.spec, entry.row.created_at, after);
}

std::int64_t Slots::counted_at(const Entry& entry, Instant slot) const {
  if (!entry.timetable) return local_minute_of_slot(*entry.spec, slot);
  const LocalSeconds local = entry.timetable->next(slot - Duration(1))->local;
  return std::chrono::floor<std::chrono::minutes>(local.time_since_epoch()).count();
}

// Where the series begins after a change at `now`.
std::optional<Instant> Slots::first_slot(const Entry& entry, Instant now) const {
  if (!entry.row.enabled || entry.row.deleted_at || !has_times(entry.spec)) return std::nullopt;
  Instant after = now;
  if (entry.row.paused_until && *entry.row.paused_until > now) {
    if (*entry.row.paused_until == kInstantMax) return std::nullopt;
    after = *entry.row.paused_until - Duration(1);
    // A pause moves nothing to an earlier time.
    if (entry.stored_next) after = std::max(after, *entry.stored_next - Duration(1));
  }
  if (entry.position) after = std::max(after, *entry.position);
  return slot_after(entry, after);
}

void Slots::set_next(ScheduleId id, Entry& entry, std::optional<Instant> next) {
  if (entry.next) due_.erase({*entry.next, id});
  entry.next = next;
  if (next) due_.emplace(*next, id);
}

void Slots::judge_cover(const Entry& before, const Touched& touched, const std::vector<Instant>& due, Instant now,
                        const Model& model) {
  const ScheduleSpec& spec = *before.spec;
  const std::string& name = before.row.name;
  // The misfire policy: which of the late ones run.
  const auto is_late = [&](Instant slot) { return now - slot > spec.grace; };
  const auto late = static_cast<std::size_t>(std::ranges::count_if(due, is_late));
  std::size_t late_runs = 0;
  if (spec.misfire == Misfire::latest && late == due.size()) late_runs = 1;
  if (spec.misfire == Misfire::all) late_runs = static_cast<std::size_t>(spec.misfire_max);
  const std::size_t missed = late - std::min(late, late_runs);

  std::set<Instant> jobs(touched.jobs.begin(), touched.jobs.end());
  std::map<Instant, std::int64_t> met;  // by range: how many it has
  for (std::size_t i = 0; i < due.size(); ++i) {
    const Instant slot = due[i];
    const auto closed = std::ranges::find_if(touched.closed, [&](const OutcomeRow& row) {
      return slot == row.slot || (row.until && slot > row.slot && slot <= *row.until);
    });
    const bool is_closed = closed != touched.closed.end();
    const bool is_job = jobs.erase(slot) > 0;
    // One of an earlier life of the schedule, as one that followed another: it has its outcome.
    if (!is_job && !is_closed && model.outcomes.contains({before.row.id, "", slot})) continue;
    if (!findings_.expect(is_job != is_closed, 3, "slot {} of {} got {} at {}", ShownTime{slot}, name,
                          is_job ? "two outcomes" : "none", ShownTime{now})) {
      return;
    }
    if (is_closed) {
      ++met[closed->slot];
      counted_.push_back(
          {.schedule = before.row.id, .local_minute = counted_at(before, slot), .outcome = *closed->outcome});
    }
    if (i < missed) {
      findings_.expect(is_closed && *closed->outcome == JobState::missed, 3,
                       "slot {} of {} is late, and was not missed", ShownTime{slot}, name);
    } else if (is_closed) {
      findings_.expect(*closed->outcome == JobState::skipped && spec.overlap != Overlap::allow, 3,
                       "slot {} of {} was to run, and was closed", ShownTime{slot}, name);
      // Skipped for overlap's sake: something of it must be open, and parked is not open.
      const bool open = due.size() > 1 || std::ranges::any_of(model.live, [&](const auto& entry) {
                          const LiveJob& job = entry.second;
                          return job.row.schedule == before.row.id && job.row.state != JobState::dlq;
                        });
      findings_.expect(open, 3, "slot {} of {} was skipped, and nothing of it was open", ShownTime{slot}, name);
    }
  }
  for (const OutcomeRow& row : touched.closed) {
    findings_.expect(met[row.slot] == row.count, 34, "the range of {} from {} says that it has {} occurrences, not {}",
                     name, ShownTime{row.slot}, row.count, met[row.slot]);
  }
  findings_.expect(jobs.empty(), 3, "{} got a job for slot {}, which it does not have at {}", name,
                   jobs.empty() ? std::string() : format_instant(*jobs.begin()), ShownTime{now});
}

void Slots::judge_times(Entry& entry, Touched& touched, Instant now, const Model& model) {
  const ScheduleId id = entry.row.id;
  const bool planned = touched.subject_put || !touched.jobs.empty() || !touched.closed.empty();
  std::vector<Instant> due;
  if (touched.before && touched.before->next && has_times(touched.before->spec) && planned) {
    const Entry& before = *touched.before;
    if (runs(before.row, now)) {
      constexpr std::size_t kSlotsMax = 100'000;
      for (auto slot = before.next; slot && *slot <= now && due.size() < kSlotsMax; slot = slot_after(before, *slot)) {
        due.push_back(*slot);
      }
    }
  }
  if (planned && touched.before && has_times(touched.before->spec)) {
    judge_cover(*touched.before, touched, due, now, model);
  }
  if (findings_.any()) return;
  if (touched.is_put) {
    set_next(id, entry, first_slot(entry, now));
  } else if (!due.empty()) {
    set_next(id, entry, slot_after(entry, now));
  }
  const bool compare = entry.next && (touched.subject_put || touched.is_put) &&
                       !(entry.row.paused_until && entry.stored_next && *entry.stored_next < *entry.row.paused_until);
  if (compare) {
    findings_.expect(entry.stored_next == entry.next, 25, "the next time of {} is {}; it should be {}, at {}",
                     entry.row.name, entry.stored_next ? format_instant(*entry.stored_next) : "none",
                     ShownTime{*entry.next}, ShownTime{now});
  }
}

// Those that follow a schedule get one job for each of its successes, in the same transaction. (invariants 30, 31)
void Slots::judge_followers(Instant now) {
  std::set<std::pair<ScheduleId, Instant>> expected;
  for (const auto& [parent, slot] : done_) {
    const auto found = schedules_.find(parent);
    if (found == schedules_.end()) continue;
    for (const auto& [id, entry] : schedules_) {
      if (!entry.spec || entry.spec->kind != Kind::after || entry.spec->fan_out ||
          entry.row.tenant != found->second.row.tenant)
        continue;
      if (entry.spec->after != found->second.row.name || !runs(entry.row, now)) continue;
      // What lies before the position was planned, or cannot be distinguished from what was.
      if (!entry.position || slot > *entry.position) expected.emplace(id, slot);
    }
  }
  for (const auto& [id, touched] : touched_) {
    const auto found = schedules_.find(id);
    if (found == schedules_.end() || !found->second.spec || found->second.spec->kind != Kind::after) continue;
    for (const Instant slot : touched.jobs) {
      findings_.expect(expected.contains({id, slot}), 31, "{} fired for slot {} without a success of {}",
                       found->second.row.name, ShownTime{slot}, found->second.spec->after);
    }
  }
  for (const auto& key : expected) {
    findings_.expect(made_.contains(key), 31, "{} did not fire for slot {} of {}", schedules_.at(key.first).row.name,
                     ShownTime{key.second}, schedules_.at(key.first).spec->after);
  }
}

void Slots::end_of_transaction(Instant now, const Model& model) {
  if (touched_.empty() && done_.empty()) return;
  for (auto& [id, touched] : touched_) {
    const auto found = schedules_.find(id);
    if (found == schedules_.end() || !found->second.spec || found->second.spec->fan_out) continue;
    if (found->second.spec->kind != Kind::after || (touched.before && has_times(touched.before->spec))) {
      judge_times(found->second, touched, now, model);
    }
    if (found->second.row.deleted_at) set_next(id, found->second, std::nullopt);
  }
  if (!done_.empty() || !touched_.empty()) judge_followers(now);
  touched_.clear();
  done_.clear();
}

std::optional<std::pair<Instant, std::string>> Slots::overdue(Instant now) const {
  if (due_.empty() || due_.begin()->first > now) return std::nullopt;
  for (const auto& [at, id] : due_) {
    if (at > now) break;
    const Entry& entry = schedules_.at(id);
    if (runs(entry.row, now)) return std::pair(at, entry.row.name);
  }
  return std::nullopt;
}

bool Slots::is_running(ScheduleId id, Instant now) const {
  const auto found = schedules_.find(id);
  return found != schedules_.end() && runs(found->second.row, now);
}

const ScheduleRow* Slots::row(ScheduleId id) const {
  const auto found = schedules_.find(id);
  return found == schedules_.end() ? nullptr : &found->second.row;
}

std::vector<const ScheduleRow*> Slots::rows() const {
  std::vector<const ScheduleRow*> rows;
  rows.reserve(schedules_.size());
  for (const auto& [id, entry] : schedules_) rows.push_back(&entry.row);
  return rows;
}

}  // namespace carillon::sim
