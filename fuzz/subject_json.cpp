// Overrides of a subject, as a body and as a line of an import: each is read or refused with a reason, what was read is
// written back as the same, and what a schedule accepts makes jobs that can be stored.
#include "base/check.h"
#include "core/schedules/plan.h"
#include "core/schedules/subject.h"
#include "expect.h"

using namespace carillon;

namespace {

constexpr Instant kNow = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

Schedule schedule_of(Trigger trigger) {
  Schedule schedule;
  schedule.name = "n";
  schedule.fan_out = true;
  schedule.trigger = std::move(trigger);
  schedule.job.type = "t";
  schedule.job.payload = R"({"a": 1})";
  return schedule;
}

void expect_sound_plan(const SubjectText& text, const Schedule& schedule) {
  if (const auto checked = check_subject(text, schedule, {}); !checked) return;
  const auto zone = zone_of(schedule, text.overrides, Zone::utc());
  CHECK(zone.has_value());
  PlanFacts facts{.tenant = "default",
                  .schedule = schedule,
                  .subject = "s",
                  .now = kNow,
                  .overrides = text.overrides,
                  .zone = *zone,
                  .expected_at = text.expected_at.value_or(std::nullopt)};
  SubjectPlan plan = anchor_subject(facts, {.at = kNow, .cursor_end = text.cursor_end});
  CHECK(text.overrides.enabled || !plan.next_at);
  facts.position = plan.position;
  facts.next_at = plan.next_at;
  facts.cursor = plan.cursor;
  facts.now = kNow + std::chrono::days(31);
  plan = plan_subject(facts);
  for (const NewJob& job : plan.jobs) CHECK(check_new_job(job).has_value());
  CHECK(!plan.next_at || !plan.position || plan.position < plan.next_at || plan.next_at <= facts.now);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  if (const auto line = parse_subject_line(text)) {
    const auto again = parse_subject_line(write_subject_line(*line));
    CHECK(again && *again == *line);
  } else {
    fuzz::expect_readable(line.error(), text);
  }
  const auto subject = parse_subject(text);
  if (!subject) {
    fuzz::expect_readable(subject.error(), text);
    return 0;
  }
  const auto stored = read_overrides(write_overrides(subject->overrides));
  CHECK(stored && *stored == subject->overrides);
  // A patch over itself changes nothing.
  const auto patched = patch_subject(subject->overrides, text);
  CHECK(patched && patched->overrides == subject->overrides);
  expect_sound_plan(*subject, schedule_of(DeliveryTrigger{.due = {28800}}));
  WindowsTrigger windows;
  windows.interval = std::chrono::hours(1);
  expect_sound_plan(*subject, schedule_of(windows));
  AdaptiveTrigger adaptive;
  adaptive.bands.push_back(
      {.within = std::chrono::hours(24), .every = {.min = std::chrono::minutes(10), .max = std::chrono::minutes(10)}});
  adaptive.otherwise = {.min = std::chrono::hours(4), .max = std::chrono::hours(6)};
  expect_sound_plan(*subject, schedule_of(adaptive));
  return 0;
}
