#include "sim/subjects.h"

#include <algorithm>
#include <utility>

#include "sim/calendar.h"

namespace carillon::sim {

namespace {

bool is_by_hand(const JobRow& row) {
  const auto options = row.options.read();
  return options && options->origin == Origin::manual;
}

bool plans_otherwise(const ScheduleRow& before, const ScheduleRow& after) {
  return before.definition != after.definition || before.enabled != after.enabled ||
         before.paused_until != after.paused_until || before.deleted_at != after.deleted_at ||
         before.generation != after.generation;
}

}  // namespace

SubjectTouch& Subjects::touch(const SubjectKey& key) {
  const auto [found, is_new] = touched_.try_emplace(key);
  if (is_new) {
    if (const auto known = subjects_.find(key); known != subjects_.end()) found->second.before = known->second;
  }
  return found->second;
}

// ---- Rows ---------------------------------------------------------------------------------------------------------

void Subjects::put_schedule(const ScheduleRow& row, Instant now) {
  const ScheduleSpec* const spec = specs_.schedule(row.definition);
  if (!spec || !spec->fan_out) return;
  Owner& owner = owners_[row.id];
  const bool is_disturbed = plans_otherwise(owner.row, row);
  if (owner.spec != spec && !owner.row.deleted_at) {
    owner.previous = owner.spec;
    any_previous_ = true;
  }
  owner.spec = spec;
  owner.row = row;
  if (!is_disturbed) return;
  for (auto subject = subjects_.lower_bound({row.id, ""});
       subject != subjects_.end() && subject->first.schedule == row.id; ++subject) {
    touch(subject->first).is_disturbed = true;
    subject->second.calm_since = now;
    // Those of an earlier life of the schedule are gone.
    subject->second.lives = subject->second.lives && subject->second.row.generation == row.generation;
  }
}

void Subjects::erase_schedule(ScheduleId id) { owners_.erase(id); }

void Subjects::put_subject(const SubjectRow& row, Instant now) {
  const SubjectKey key{row.schedule, row.subject};
  SubjectTouch& touched = touch(key);
  SubjectModel& subject = subjects_[key];
  const Owner& owner = owners_.at(row.schedule);
  findings_.expect(!subject.row.position || (row.position && *row.position >= *subject.row.position), 1,
                   "the position of {} fell", row.subject);
  const bool lived = std::exchange(subject.lives, !row.deleted_at && row.generation == owner.row.generation);
  if (subject.lives && (!lived || row.overrides != subject.row.overrides || row.enabled != subject.row.enabled)) {
    touched.is_disturbed = true;
    subject.calm_since = now;
    if (!lived) {
      subject.expected_at.reset();
      subject.last_status.clear();
    }
    const SubjectSpec* const spec = specs_.subject(row.overrides);
    findings_.expect(spec != nullptr, 4, "subject {} was stored, but nobody put it", row.subject);
    if (spec && spec != subject.spec && spec->expected_at) subject.expected_at = *spec->expected_at;
    subject.spec = spec;
  }
  subject.row = row;
}

void Subjects::erase_subject(const SubjectKey& key) {
  const auto found = subjects_.find(key);
  if (found == subjects_.end()) return;
  if (found->second.due) due_.erase({*found->second.due, key});
  touched_.erase(key);
  subjects_.erase(found);
  std::erase_if(made_,
                [&](const OutcomeKey& made) { return made.schedule == key.schedule && made.subject == key.subject; });
}

void Subjects::insert_job(const JobRow& row, Instant now) {
  const SubjectKey key{row.schedule, row.subject};
  touch(key).jobs.push_back(row);
  const OutcomeKey occurrence{row.schedule, row.subject, *row.slot};
  findings_.expect(made_.insert(occurrence).second, 1, "{} of {} became a job twice", ShownTime{*row.slot},
                   row.subject);
  const Owner& owner = owners_.at(row.schedule);
  if (owner.spec->kind == Kind::after) followed_.push_back(occurrence);
  const bool runs_now = runs(owner.row, now) && is_enabled(row.schedule, row.subject);
  findings_.expect(runs_now || is_by_hand(row), 32, "{} of {} became a job while {} is paused", ShownTime{*row.slot},
                   row.subject, owner.row.name);
}

void Subjects::insert_plain_job(const JobRow& row, std::string_view tenant, std::string_view payload) {
  const ScheduleSpec* const spec = specs_.at_cutoff(payload);
  if (!spec || is_by_hand(row)) return;
  for (const auto& [id, owner] : owners_) {
    if (owner.row.name == spec->name && owner.row.tenant == tenant) ++at_cutoff_[{id, row.subject}];
  }
}

void Subjects::put_outcome(const OutcomeRow& before, const OutcomeRow& row, Instant now) {
  const SubjectKey key{row.schedule, row.subject};
  const Owner& owner = owners_.at(row.schedule);
  SubjectTouch& touched = touch(key);
  const bool is_new = !before.schedule;
  if (row.job && is_new) touched.opened.push_back(row);
  const bool ends = row.outcome && !before.outcome;
  if (row.job && ends) touched.ended.push_back(row);
  if (row.job && (ends || (row.parked && !before.parked))) touched.last = row;
  if (!row.job && row.outcome && (is_new || before.count != row.count)) {
    OutcomeRow added = row;
    // Of a range that has grown: what was added.
    if (!is_new) added.slot = row.until.value_or(row.slot);
    touched.closed.push_back(added);
    const bool needs_running = row.reason != "rescheduled" && row.reason != "cursor_set";
    findings_.expect(!needs_running || (runs(owner.row, now) && is_enabled(row.schedule, row.subject)), 32,
                     "{} of {} was closed while {} is paused", ShownTime{row.slot}, row.subject, owner.row.name);
  }
  if (owner.spec->kind == Kind::delivery && row.outcome == JobState::cutoff_reached && !before.outcome) {
    ++cutoffs_[key];
  }
}

void Subjects::job_done(const LiveJob& job) {
  if (job.row.slot && !is_by_hand(job.row)) done_.push_back({job.row.schedule, job.row.subject, *job.row.slot});
}

// ---- Checks -------------------------------------------------------------------------------------------------------

void Subjects::checked(const JobRow& row) {
  touch({row.schedule, row.subject});
  std::string& status = subjects_[{row.schedule, row.subject}].last_status;
  if (status == "error") status.clear();
}

void Subjects::learnt(const JobRow& row, const Word& word) {
  if (!word.expected_at && !word.status) return;
  SubjectModel& subject = subjects_[{row.schedule, row.subject}];
  touch({row.schedule, row.subject});
  if (word.expected_at) subject.expected_at = word.expected_at;
  if (word.status) subject.last_status = *word.status;
}

void Subjects::superseded(const JobRow& row) {
  touch({row.schedule, row.subject});
  subjects_[{row.schedule, row.subject}].last_status = "error";
}

void Subjects::intend_cursor(const SubjectKey& key, std::optional<Instant> at) {
  const auto found = subjects_.find(key);
  if (at || found != subjects_.end()) subjects_[key].intended_cursor = at;
}

bool Subjects::delivers(ScheduleId id) const {
  const auto owner = owners_.find(id);
  return owner != owners_.end() && owner->second.spec->kind == Kind::delivery;
}

bool Subjects::is_enabled(ScheduleId schedule, const std::string& subject) const {
  const auto found = subjects_.find({schedule, subject});
  return found == subjects_.end() || found->second.row.enabled;
}

const SubjectRow* Subjects::row(const SubjectKey& key) const {
  const auto found = subjects_.find(key);
  return found == subjects_.end() ? nullptr : &found->second.row;
}

std::optional<Instant> Subjects::next_check(const JobRow& row) const {
  const auto owner = owners_.find(row.schedule);
  const auto subject = subjects_.find({row.schedule, row.subject});
  if (owner == owners_.end() || subject == subjects_.end() || !row.slot) return std::nullopt;
  return owner->second.spec->kind == Kind::adaptive ? subject->second.row.next_at : std::nullopt;
}

// ---- The end of a transaction -------------------------------------------------------------------------------------

// What follows at a cutoff is made with it, once per day. (invariants 30, 34)
void Subjects::judge_cutoffs() {
  for (const auto& [key, made] : at_cutoff_) cutoffs_.try_emplace(key, 0);
  for (const auto& [key, count] : cutoffs_) {
    const auto owner = owners_.find(key.schedule);
    const auto subject = subjects_.find(key);
    if (owner == owners_.end() || subject == subjects_.end()) continue;
    const ScheduleSpec* const previous = owner->second.previous;
    const bool lives = subject->second.lives && !owner->second.row.deleted_at;
    const bool follows = owner->second.spec->on_cutoff != nullptr;
    const bool is_sure = lives && (!previous || (previous->on_cutoff != nullptr) == follows);
    const auto made = at_cutoff_.find(key);
    const int jobs = made == at_cutoff_.end() ? 0 : made->second;
    findings_.expect(jobs <= count && (!is_sure || jobs == (follows ? count : 0)), 34,
                     "{} has reached {} cutoffs, and {} jobs followed", key.subject, count, jobs);
  }
}

// One job for each success of the same subject, with it. (invariant 31)
void Subjects::judge_followers(Instant now) {
  std::set<OutcomeKey> expected;
  for (const OutcomeKey& done : done_) {
    const auto parent = owners_.find(done.schedule);
    if (parent == owners_.end()) continue;
    for (const auto& [id, owner] : owners_) {
      if (owner.spec->kind != Kind::after || owner.spec->after != parent->second.row.name) continue;
      if (owner.row.tenant != parent->second.row.tenant || !runs(owner.row, now)) continue;
      const auto subject = subjects_.find({id, done.subject});
      if (subject == subjects_.end() || !subject->second.lives || !subject->second.row.enabled) continue;
      const auto& position = subject->second.row.position;
      if (!position || done.slot > *position) expected.insert({id, done.subject, done.slot});
    }
  }
  for (const OutcomeKey& key : followed_) {
    findings_.expect(expected.contains(key), 31, "{} fired for {} of {} without a success of {}",
                     owners_.at(key.schedule).row.name, ShownTime{key.slot}, key.subject,
                     owners_.at(key.schedule).spec->after);
  }
  for (const OutcomeKey& key : expected) {
    findings_.expect(made_.contains(key), 31, "{} did not fire for {} of {}", owners_.at(key.schedule).row.name,
                     ShownTime{key.slot}, key.subject);
  }
}

// What had not started is cancelled with its subject.
void Subjects::judge_deleted(const SubjectModel& subject, const SubjectTouch& touched, const Model& model) {
  if (!touched.before.lives || subject.lives || !subject.row.deleted_at) return;
  if (touched.before.row.generation != owners_.at(subject.row.schedule).row.generation) return;
  for (const auto& [id, job] : model.live) {
    if (job.row.schedule != subject.row.schedule || job.row.subject != subject.row.subject) continue;
    findings_.expect(job.lease || job.row.state == JobState::dlq, 32, "{} was deleted, and its job {} is still {}",
                     subject.row.subject, Shown{id}, to_string(job.row.state));
  }
}

// The last outcome is in the subject's own row, from the same transaction on. (S0)
void Subjects::judge_status(const SubjectModel& subject, const SubjectTouch& touched) {
  if (!touched.last || !touched.closed.empty() || !subject.lives) return;
  const OutcomeRow& last = *touched.last;
  const JobState word = last.outcome.value_or(JobState::dlq);
  // A day that is parked has not ended before its cutoff. And one may have got a cutoff before that of the day that was
  // open when its due time was changed.
  const auto& said = touched.before.row.last_slot;
  const bool is_day = owners_.at(subject.row.schedule).spec->kind == Kind::delivery;
  if (is_day && (!last.outcome || said > last.slot)) return;
  findings_.expect(subject.row.status == word && subject.row.last_slot == last.slot, 3,
                   "{} of {} ended as {}, and the subject does not say so", ShownTime{last.slot}, subject.row.subject,
                   to_string(word));
}

namespace {

using Minutes = std::vector<std::int64_t>;

// On which local minutes the occurrences of a row are counted, if this rule was in force; nothing: it was not.
std::optional<Minutes> minutes_of(const OutcomeRow& row, const SubjectView::Rule& rule, Kind kind, bool has_grown) {
  constexpr std::int64_t kMinutesOfDay = 1440;
  const std::string& zone = rule.subject->zone ? *rule.subject->zone : rule.schedule->zone;
  if (kind == Kind::adaptive) return Minutes{local_minute(zone, row.slot)};
  Minutes minutes;
  if (kind == Kind::delivery) {
    for (std::int64_t i = 0; i < row.count; ++i) minutes.push_back(row.local_minute + i * kMinutesOfDay);
    return minutes;
  }
  const Duration interval = rule.subject->interval.value_or(rule.schedule->interval);
  const Duration length = row.until.value_or(row.slot) - row.slot;
  if ((length + interval - Duration(1)) / interval != row.count || has_grown) return std::nullopt;
  for (std::int64_t i = 0; i < row.count; ++i) minutes.push_back(local_minute(zone, row.slot + i * interval));
  return minutes;
}

}  // namespace

void Subjects::count_closed(const SubjectView& view) {
  for (const OutcomeRow& row : view.touch.closed) {
    const auto known = view.model.outcomes.find({row.schedule, row.subject, row.slot});
    const bool has_grown = known == view.model.outcomes.end();  // then its slot is that of what was added
    std::set<Minutes> possible;
    for (const auto& rule : view.rules()) {
      if (auto minutes = minutes_of(row, rule, view.owner.spec->kind, has_grown)) possible.insert(*std::move(minutes));
    }
    // The rest of a range whose first one has its outcome from an earlier life begins beside a slot.
    const bool is_cut = row.slot.time_since_epoch() % std::chrono::seconds(1) == Duration(1);
    if (possible.size() != 1 || is_cut) {
      counted_.unsure.insert(row.schedule);
      continue;
    }
    for (const std::int64_t minute : *possible.begin()) {
      counted_.slots.push_back({.schedule = row.schedule, .local_minute = minute, .outcome = *row.outcome});
    }
  }
}

void Subjects::set_due(const SubjectKey& key, SubjectModel& subject, std::optional<Instant> before) {
  if (!subject.lives) subject.due.reset();
  if (subject.due == before) return;
  if (before) due_.erase({*before, key});
  if (subject.due) due_.emplace(*subject.due, key);
}

void Subjects::end_of_transaction(Instant now, const Model& model) {
  if (touched_.empty() && at_cutoff_.empty()) return;
  for (auto& [key, touched] : touched_) {
    const auto owner = owners_.find(key.schedule);
    const auto found = subjects_.find(key);
    if (owner == owners_.end() || found == subjects_.end() || findings_.any()) continue;
    SubjectModel& subject = found->second;
    const std::optional<Instant> due = touched.before.due;
    const SubjectView view{.owner = owner->second,
                           .subject = subject,
                           .touch = touched,
                           .model = model,
                           .findings = findings_,
                           .now = now};
    switch (owner->second.spec->kind) {
      case Kind::delivery: judge_delivery(view); break;
      case Kind::windows: judge_windows(view); break;
      case Kind::adaptive: judge_checks(view); break;
      default: break;
    }
    count_closed(view);
    set_due(key, subject, due);
    judge_deleted(subject, touched, model);
    judge_status(subject, touched);
  }
  judge_cutoffs();
  judge_followers(now);
  touched_.clear();
  done_.clear();
  followed_.clear();
  cutoffs_.clear();
  at_cutoff_.clear();
}

std::optional<std::string> Subjects::overdue(Instant now) {
  if (std::exchange(any_previous_, false)) {
    for (auto& [id, owner] : owners_) owner.previous = nullptr;
  }
  for (const auto& [at, key] : due_) {
    if (at > now) break;
    const SubjectModel& subject = subjects_.at(key);
    const auto owner = owners_.find(key.schedule);
    if (owner == owners_.end() || !runs(owner->second.row, now) || !subject.row.enabled) continue;
    return fmt::format("{} of {}, due {}", key.subject, owner->second.row.name, ShownTime{at});
  }
  return std::nullopt;
}

std::vector<Subjects::Named> Subjects::all() const {
  std::vector<Named> all;
  all.reserve(subjects_.size());
  for (const auto& [key, subject] : subjects_) {
    const auto owner = owners_.find(key.schedule);
    if (owner != owners_.end()) all.push_back({.key = key, .owner = &owner->second, .subject = &subject});
  }
  return all;
}

}  // namespace carillon::sim
