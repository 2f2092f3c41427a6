// Outcomes: how the occurrences of a schedule ended, a day at a glance or one by one.
#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "base/json_writer.h"
#include "core/jobs/json_members.h"
#include "core/schedules/schedule.h"
#include "core/schedules/subject.h"
#include "core/time/local_time.h"
#include "core/time/slot_text.h"
#include "server/api/query_fields.h"
#include "server/api/services.h"

namespace carillon::server {

namespace {

constexpr std::int64_t kOutcomesDefault = 50;
constexpr std::array<std::string_view, 7> kOutcomes{"success",   "cutoff_reached", "skipped", "missed",
                                                    "cancelled", "open",           "dlq"};

// By the schedule's own clock.
Result<std::string> today(Services& services, const RouteCall& call) {
  TRY_ASSIGN(const ScheduleRow row, services.queries().kept_schedule(call.tenant(), call.params[1]));
  TRY_ASSIGN(const Schedule schedule, parse_schedule(row.definition));
  TRY_ASSIGN(const Zone zone, zone_of(schedule, {}, services.queries().rules().zone_of(call.tenant())));
  return format_date(std::chrono::floor<std::chrono::days>(zone.to_local(services.now())));
}

Result<HttpResponse> outcomes_of_day(Services& services, const RouteCall& call) {
  QueryFields fields(call.request);
  TRY_ASSIGN(std::optional<std::string> date, fields.text("date"));
  TRY(fields.finish());
  if (!date) {
    TRY_ASSIGN(date, today(services, call));
  }
  TRY_ASSIGN(const std::vector<OutcomeMinute> minutes,
             services.host.client().outcomes_of_day(call.tenant(), call.params[1], *date));
  std::map<std::string_view, std::int64_t> totals;
  JsonArray by_minute;
  for (const OutcomeMinute& minute : minutes) {
    totals[minute.outcome] += minute.count;
    by_minute.raw(fmt::format(R"([{},"{}",{}])", minute.minute, minute.outcome, minute.count));
  }
  JsonObject counts;
  for (const std::string_view outcome : kOutcomes) counts.integer(outcome, totals[outcome]);
  JsonObject answer;
  answer.text("date", *date).raw("counts", counts.str()).raw("by_due_minute", by_minute.str());
  return json_answer(200, answer.str());
}

// An instant, or a date: deliveries are known by theirs, which begins at midnight in UTC.
Result<std::optional<Instant>> slot_field(QueryFields& fields, std::string_view name) {
  TRY_ASSIGN(const auto given, fields.text(name));
  if (!given) return std::nullopt;
  if (const auto day = parse_date(*given)) return Instant(std::chrono::sys_days(day->time_since_epoch()));
  return fields.instant(name);
}

std::string to_json(const OutcomeItem& item) {
  JsonObject object;
  object.text("subject", item.subject).text("slot", item.slot);
  // Written as the slot is: a day of days.
  const bool is_day = item.slot.find('T') == std::string::npos;
  put(object, "until", slot_text(item.until, is_day ? SlotKind::day : SlotKind::instant));
  object.integer("count", item.count).text("outcome", item.outcome);
  put(object, "reason", item.reason);
  put(object, "job_id", item.job ? format_job_id(item.job) : std::string());
  put(object, "at", item.at);
  return object.str();
}

Result<HttpResponse> list_outcomes(Services& services, const RouteCall& call) {
  QueryFields fields(call.request);
  OutcomeItemQuery query;
  TRY_ASSIGN(query.subject, fields.text("subject"));
  TRY_ASSIGN(query.from, slot_field(fields, "from"));
  TRY_ASSIGN(query.to, slot_field(fields, "to"));
  TRY_ASSIGN(const std::int64_t limit, fields.integer("limit", kOutcomesDefault, 1, kPageMax));
  TRY_ASSIGN(const auto cursor, fields.text("cursor"));
  TRY(fields.finish());
  TRY_ASSIGN(const OutcomeList list,
             services.host.client().outcome_items(call.tenant(), call.params[1], query, cursor.value_or(""),
                                                  static_cast<std::size_t>(limit)));
  JsonArray items;
  for (const OutcomeItem& item : list.items) items.raw(to_json(item));
  return list_answer(items, list.next_cursor);
}

using Work = Result<HttpResponse> (*)(Services&, const RouteCall&);

}  // namespace

void add_outcome_routes(RouteTable& table, Services& services) {
  const auto add = [&](std::string_view path, RouteDoc doc, Work work) {
    doc.group = "Schedules";
    table.push_back(
        {.method = Method::get,
         .path = path,
         .needs = Needs::read,
         .doc = std::move(doc),
         .call = [&services,
                  work](const RouteCall& call) { answer(call, "schedule", [&] { return work(services, call); }); },
         .writes = false});
  };
  add("/v1/tenants/{tenant}/schedules/{name}/outcomes",
      {.summary = "How many occurrences of a local day ended how, also by the minute that they were due. Without a "
                  "date: today. Kept 400 days, of a deleted schedule as long as its rows.",
       .answers = {{200, "Outcomes"}},
       .query = {"date"}},
      outcomes_of_day);
  add("/v1/tenants/{tenant}/schedules/{name}/outcomes/items",
      {.summary = "What became of each occurrence, by subject and slot; from and to are instants or dates. Kept as "
                  "long as jobs, also when the schedule is deleted.",
       .answers = {{200, "OutcomeList"}},
       .query = {"subject", "from", "to", "limit", "cursor"}},
      list_outcomes);
}

}  // namespace carillon::server
