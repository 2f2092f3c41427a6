// What people do with schedules that have subjects, and with these.
#include <algorithm>
#include <array>

#include "sim/simulation.h"

namespace carillon::sim {

namespace {

using namespace std::chrono_literals;

constexpr auto kNames = std::to_array<const char*>({"ada", "bob", "cy", "dee", "eve", "fay", "gus", "hal"});

bool is_expected(const Error& error) {
  return error.code == ErrorCode::unavailable || error.code == ErrorCode::store_full ||
         error.code == ErrorCode::database_error || error.code == ErrorCode::not_found;
}

}  // namespace

void Simulation::put_with_subjects(Kind kind, const std::string& tenant, const std::string& name, int subjects) {
  const ScheduleSpec& spec = world_.draw_with_subjects(kind, tenant, name);
  put(spec);
  for (int i = 0; i < subjects && !crash_now_; ++i) {
    put_subject(spec, kNames[static_cast<std::size_t>(i)], world_.draw_subject(spec, nullptr, now()), false);
  }
}

// One that follows a schedule with subjects has them too: some of the same names, not all.
void Simulation::put_after_subjects(const ScheduleRow& parent) {
  ScheduleSpec& spec = world_.draw_with_subjects(Kind::after, parent.tenant, fmt::format("follower-{}", ++names_));
  spec.after = parent.name;
  put(spec);
  for (std::size_t i = 0; i < kNames.size() && !crash_now_; i += 2) {
    put_subject(spec, kNames[i], world_.draw_subject(spec, nullptr, now()), false);
  }
}

void Simulation::set_up_subjects() {
  for (const Kind kind : {Kind::delivery, Kind::windows, Kind::adaptive, Kind::delivery, Kind::windows}) {
    const int subjects = kind == Kind::delivery ? 6 : kind == Kind::windows ? 3 : 3;
    put_with_subjects(kind, world_.any_tenant(), fmt::format("subjects-{}", ++names_), random_.between(1, subjects));
  }
  std::vector<const ScheduleRow*> rows = judge_.slots().rows();
  std::erase_if(rows, [&](const ScheduleRow* row) { return !judge_.subjects().knows(row->id); });
  if (!rows.empty()) put_after_subjects(*random_.pick(rows));
}

void Simulation::put_subject(const ScheduleSpec& schedule, const std::string& name, const SubjectSpec& spec,
                             bool patches) {
  const std::string body = World::body_of(spec);
  const auto answer = patches ? site_.client().patch_subject(schedule.tenant, schedule.name, name, body)
                              : site_.client().put_subject(schedule.tenant, schedule.name, name, body);
  trace_.say(now(), "{} {} of {} {}: {}", patches ? "patch" : "put", name, schedule.name, body,
             answer ? "ok" : answer.error().message);
  trace_.add(answer ? 1U : 0U);
  if (!answer && !crash_now_) {
    judge_.findings().expect(is_expected(answer.error()), 4, "subject {} was refused: {}", name,
                             answer.error().message);
  }
}

// A cursor is only raised, and never into what has jobs. (invariant 20)
void Simulation::raise_cursor(const Subjects::Named& named) {
  if (!named.subject->planned_end || !named.subject->spec) return;
  const SubjectKey key = named.key;
  const ScheduleSpec& schedule = *named.owner->spec;
  const Instant planned = *named.subject->planned_end;
  const Instant cursor = named.subject->cursor.value_or(planned);
  const bool falls = random_.percent(25);
  const Instant to = falls ? cursor - 1h : planned + std::chrono::minutes(random_.between(0, 300));
  const std::string body = fmt::format(R"({{"cursor_end":"{}"}})", format_instant(to));
  if (!falls) judge_.subjects().intend_cursor(key, to);
  const auto answer = site_.client().patch_subject(schedule.tenant, schedule.name, key.subject, body);
  trace_.say(now(), "cursor of {} to {}: {}", key.subject, format_instant(to), answer ? "ok" : answer.error().message);
  judge_.findings().expect(!falls || !answer, 20, "the cursor of {} was lowered", key.subject);
  if (!crash_now_) judge_.subjects().intend_cursor(key, std::nullopt);
}

void Simulation::trigger_subject(const Subjects::Named& named) {
  const ScheduleSpec& schedule = *named.owner->spec;
  Client::TriggerOptions options{.payload = {}, .priority = {}, .subject = named.key.subject};
  if (schedule.kind == Kind::windows) {
    options.window_start = std::chrono::floor<std::chrono::hours>(now()) - 3h;
    options.window_end = *options.window_start + 1h;
  }
  if (random_.percent(30)) options.priority = 1;
  judge_.operator_asks(Judge::Asks::retry);
  const auto answer = site_.client().trigger(schedule.tenant, schedule.name, options);
  judge_.operator_asks(bulk_ ? Judge::Asks::retry : Judge::Asks::nothing);
  trace_.say(now(), "trigger {} of {}: {}", named.key.subject, schedule.name, answer ? "ok" : answer.error().message);
  trace_.add(answer ? static_cast<std::uint64_t>(answer->id.value) : 0U);
}

void Simulation::act_on_subject() {
  std::vector<Subjects::Named> all = judge_.subjects().all();
  std::erase_if(all, [](const Subjects::Named& one) { return one.owner->row.deleted_at.has_value(); });
  if (all.empty()) return;
  const Subjects::Named named = random_.pick(all);
  const ScheduleSpec& schedule = *named.owner->spec;
  const std::string name = named.key.subject;
  report_.faults.add(Fault::subject_word);
  const auto what = random_.below(10);
  if (!named.subject->lives) {
    if (what < 6) put_subject(schedule, name, world_.draw_subject(schedule, nullptr, now()), false);
    return;
  }
  if (what < 4) {
    // Now and then it says nothing new, or is enabled again.
    SubjectSpec& spec = world_.draw_subject(schedule, named.subject->spec, now());
    if (random_.percent(60)) spec.enabled = true;
    put_subject(schedule, name, spec, random_.percent(50));
  } else if (what < 6) {
    SubjectSpec& spec = world_.draw_subject(schedule, named.subject->spec, now());
    spec.enabled = !spec.enabled;
    put_subject(schedule, name, spec, true);
  } else if (what < 7) {
    trace_.say(now(), "delete {} of {}", name, schedule.name);
    [[maybe_unused]] const auto unheard = site_.client().delete_subject(schedule.tenant, schedule.name, name);
  } else if (what < 8 && schedule.kind == Kind::windows) {
    raise_cursor(named);
  } else if (what < 9) {
    trigger_subject(named);
  } else {
    put_subject(schedule, random_.pick(kNames), world_.draw_subject(schedule, nullptr, now()), false);
  }
}

}  // namespace carillon::sim
