#include <carillon/scheduler.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "core/time/instant.h"
#include "core/time/local_time.h"
#include "core/time/zone.h"

namespace carillon {

namespace {

constexpr std::size_t kTypeShownMax = 80;  // of a schedule's name

Result<void> check_given(std::string_view name, const std::string& text, std::string_view wanted) {
  if (!text.empty()) return {};
  return invalid_field(name, fmt::format("{} is missing; expected {}", name, wanted));
}

// The same rule for the same work in the same guild. (S4's bucket lacks the payload: two pairs would share one.)
std::string name_of(const Scheduler::Recurring& asked) {
  return fmt::format("{}.{:016x}", asked.type.substr(0, kTypeShownMax),
                     stable_hash({"scheduleRecurring", asked.type, asked.payload, asked.rrule, asked.tz}));
}

Result<std::string> definition_of(const Scheduler::Recurring& asked, const std::string& name) {
  TRY_ASSIGN(const Zone zone, Zone::load(asked.tz));
  JsonObject trigger;
  trigger.text("kind", "rrule").text("rrule", asked.rrule);
  if (asked.start_from.is_given()) {
    TRY_ASSIGN(const Instant from, asked.start_from.read("start_from"));
    // Whole seconds, and not before it.
    trigger.text("start", format_local_seconds(zone.to_local(std::chrono::ceil<std::chrono::seconds>(from))));
  }
  if (const auto payload = parse_json(asked.payload); !payload) {
    return std::unexpected(about_field("payload", with_context("payload", payload.error())));
  }
  JsonObject job;
  job.text("type", asked.type).raw("payload", asked.payload).integer("priority", asked.priority);
  if (asked.notifies) job.boolean("notifies", true);
  JsonObject definition;
  definition.text("name", name).raw("trigger", trigger.str()).text("timezone", asked.tz).raw("job", job.str());
  return definition.str();
}

}  // namespace

Result<Instant> AnyTime::read(std::string_view field) const {
  const auto parsed = [&]() -> Result<Instant> {
    if (const auto* const at = std::get_if<Instant>(&given_)) return *at;
    if (const auto* const count = std::get_if<std::int64_t>(&given_)) return parse_instant(std::to_string(*count));
    if (const auto* const text = std::get_if<std::string>(&given_)) return parse_instant(*text);
    return invalid_request("is missing; expected an instant, RFC 3339 or Unix milliseconds");
  }();
  if (!parsed) return std::unexpected(about_field(field, with_context(field, parsed.error())));
  return *parsed;
}

Result<JobId> Scheduler::schedule_once(const Once& once) {
  TRY(check_given("guild_id", once.guild_id, "the name of a tenant"));
  TRY_ASSIGN(const Instant run_at, once.run_at.read("run_at"));
  TRY_ASSIGN(const EnqueuedJob made, client_.enqueue({.type = once.type,
                                                      .tenant = once.guild_id,
                                                      .payload = once.payload,
                                                      .priority = once.priority,
                                                      .run_at = run_at,
                                                      .deadline = {},
                                                      .idempotency_key = once.idempotency_key,
                                                      .unique_until = {},
                                                      .retry = {},
                                                      .limits = {},
                                                      .notifies = once.notifies,
                                                      .depends_on = {},
                                                      .subject = {},
                                                      .tags = {},
                                                      .meta = {},
                                                      .created_by = {}}));
  return made.id;
}

Result<ScheduleInfo> Scheduler::schedule_recurring(const Recurring& recurring) {
  TRY(check_given("guild_id", recurring.guild_id, "the name of a tenant"));
  TRY(check_given("type", recurring.type, "the type of its jobs"));
  TRY(check_given("rrule", recurring.rrule, "a rule like FREQ=WEEKLY;BYDAY=MO"));
  TRY(check_given("tz", recurring.tz, "an IANA name like Europe/London"));
  const std::string name = name_of(recurring);
  TRY_ASSIGN(const std::string definition, definition_of(recurring, name));
  if (!recurring.start_from.is_given()) {
    auto known = client_.schedule(recurring.guild_id, name);
    if (known || known.error().code != ErrorCode::not_found) return known;
  }
  return client_.put_schedule(recurring.guild_id, definition);
}

}  // namespace carillon
