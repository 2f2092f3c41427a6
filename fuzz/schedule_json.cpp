// Whole schedules: each is read or refused with a reason, and what was read is written back as the same.
#include "base/check.h"
#include "core/schedules/plan.h"
#include "core/schedules/schedule.h"
#include "expect.h"

using namespace carillon;

namespace {

constexpr Instant kCreated = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

// One plan, a month after its creation: every job of it could be stored.
void expect_sound_plan(const Schedule& schedule, std::string_view text) {
  std::optional<Timetable> timetable;
  if (has_timetable(schedule)) {
    auto made = timetable_of(schedule, Zone::utc(), kCreated);
    if (!made) return fuzz::expect_readable(made.error(), text);
    timetable = *std::move(made);
  }
  const auto zone = zone_of(schedule, {}, Zone::utc());
  CHECK(zone.has_value());
  std::int64_t id = 0;
  PlanFacts facts{.tenant = "default",
                  .schedule = schedule,
                  .timetable = timetable ? &*timetable : nullptr,
                  .subject = "",
                  .next_at = {},
                  .position = {},
                  .now = kCreated,
                  .open = {},
                  .new_job_id = [&id] { return JobId{++id}; },
                  .zone = *zone};
  const SubjectPlan anchored = anchor_subject(facts, {.what = SubjectChange::What::made, .at = kCreated});
  if (!anchored.next_at) return;
  facts.next_at = anchored.next_at;
  facts.position = anchored.position;
  facts.cursor = anchored.cursor;
  facts.now = kCreated + std::chrono::days(31);
  const SubjectPlan plan = plan_subject(facts);
  for (const NewJob& job : plan.jobs) CHECK(check_new_job(job).has_value());
  for (const NewJob& job : plan.follow_ups) CHECK(check_new_job(job).has_value());
  // It goes on. (The position says nothing about that: of a delivery it is a day, and far in the east that day's window
  // opens before its midnight in UTC.)
  CHECK(!plan.next_at || *plan.next_at > *facts.next_at || *facts.next_at > facts.now);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const auto schedule = parse_schedule(text);
  if (!schedule) {
    fuzz::expect_readable(schedule.error(), text);
    return 0;
  }
  const std::string written = write_schedule(*schedule);
  const auto again = parse_schedule(written);
  CHECK(again.has_value());
  CHECK(write_schedule(*again) == written);
  CHECK(again->trigger_json == schedule->trigger_json && again->job.payload == schedule->job.payload);
  CHECK(again->starts_at == schedule->starts_at && again->ends_at == schedule->ends_at);
  expect_sound_plan(*schedule, written);
  return 0;
}
