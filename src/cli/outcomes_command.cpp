// `carillon schedules outcomes`.
#include <fmt/format.h>

#include "cli/input.h"
#include "cli/listing.h"
#include "cli/schedules_commands.h"

namespace carillon {

namespace {

// A row of by_due_minute: [480, "success", 12].
Cell due_minute(const JsonValue& row) {
  const std::int64_t minute = row.at(std::size_t{0}).as_int();
  return {.text = fmt::format("{:02}:{:02}", minute / 60, minute % 60), .colour = Colour::none};
}

Cell minute_outcome(const JsonValue& row) {
  return {.text = shown_value(row.at(std::size_t{1})), .colour = Colour::none};
}

Cell minute_count(const JsonValue& row) {
  return {.text = shown_value(row.at(std::size_t{2})), .colour = Colour::none};
}

const std::vector<FieldColumn>& minute_columns() {
  static const std::vector<FieldColumn> all{{.title = "DUE", .show = due_minute, .may_be_cut = false},
                                            {.title = "OUTCOME", .show = minute_outcome, .may_be_cut = false},
                                            {.title = "COUNT", .show = minute_count, .may_be_cut = false}};
  return all;
}

const std::vector<FieldColumn>& outcome_columns() {
  static const std::vector<FieldColumn> all{{.title = "SUBJECT", .show = field<"subject">},
                                            {.title = "SLOT", .show = field<"slot">, .may_be_cut = false},
                                            {.title = "UNTIL", .show = field<"until">, .may_be_cut = false},
                                            {.title = "OUTCOME", .show = field<"outcome">, .may_be_cut = false},
                                            {.title = "REASON", .show = field<"reason">},
                                            {.title = "AT", .show = field<"at">, .may_be_cut = false},
                                            {.title = "JOB", .show = field<"job_id">}};
  return all;
}

CliResult<Printout> show_day(Session& session, const OutcomesRequest& request) {
  const std::string path = session.tenant_path({"schedules", request.schedule, "outcomes"});
  TRY_ASSIGN(const JsonValue answer, session.get(path + query_text({{"date", request.date}})));
  if (session.json()) return Printout{.text = std::string(answer.raw()) + "\n"};
  std::string out = harmless(answer.at("date").as_string()) + "\n" + render_object(answer.at("counts"));
  const JsonValue minutes = answer.at("by_due_minute");
  std::vector<JsonValue> rows;
  for (std::size_t i = 0; i < minutes.size(); ++i) rows.push_back(minutes.at(i));
  if (!rows.empty()) out += "\n" + render_items(rows, minute_columns());
  return Printout{.text = std::move(out)};
}

// A day as it is: those of deliveries are no instants.
CliResult<std::optional<std::string>> read_slot(std::string_view what, const std::optional<std::string>& text) {
  constexpr std::size_t kDateLength = 10;
  if (text && text->size() == kDateLength) return text;
  return read_time(what, text);
}

}  // namespace

CliResult<Printout> show_outcomes(Session& session, const OutcomesRequest& request) {
  const bool each = request.items || request.subject || request.from || request.to;
  if (!each) return show_day(session, request);
  if (request.date) {
    return cli_error(ExitCode::usage, "--date is a day at a glance; name a range of single ones with --from and --to");
  }
  TRY_ASSIGN(const auto from, read_slot("--from", request.from));
  TRY_ASSIGN(const auto to, read_slot("--to", request.to));
  const Query query{{"subject", request.subject}, {"from", from}, {"to", to}};
  TRY_ASSIGN(
      const Session::Page page,
      session.list(session.tenant_path({"schedules", request.schedule, "outcomes", "items"}), query, request.paging));
  return print_list(session, page, outcome_columns(), "no outcomes");
}

}  // namespace carillon
