#include "cli/slo_command.h"

#include <fmt/format.h>

#include "cli/listing.h"

namespace carillon {

namespace {

constexpr std::int64_t kMinutesOfHour = 60;

Cell state_of(const JsonValue& item) {
  const std::string state = shown_value(item.at("state"));
  return {.text = state, .colour = state == "breached" ? Colour::red : Colour::green};
}

Cell threshold_of(const JsonValue& item) {
  return {.text = fmt::format("{} {}", shown_value(item.at("threshold")), shown_value(item.at("unit")))};
}

// What else there is to say: why, and which due minute missed most.
Cell detail_of(const JsonValue& item) {
  const JsonValue bucket = item.at("due_bucket");
  if (bucket.is_null()) return {.text = shown_value(item.at("reason"))};
  const std::int64_t minute = bucket.as_int();
  return {.text = fmt::format("most of those due at {:02}:{:02}", minute / kMinutesOfHour, minute % kMinutesOfHour)};
}

const std::vector<FieldColumn>& columns() {
  static const std::vector<FieldColumn> all{{.title = "SLO", .show = field<"name">, .may_be_cut = false},
                                            {.title = "STATE", .show = state_of, .may_be_cut = false},
                                            {.title = "VALUE", .show = field<"value">},
                                            {.title = "AT MOST", .show = threshold_of},
                                            {.title = "WINDOW", .show = field<"window">},
                                            {.title = "IN A ROW", .show = field<"breaches_in_a_row">},
                                            {.title = "SINCE", .show = field<"since">},
                                            {.title = "DETAIL", .show = detail_of}};
  return all;
}

}  // namespace

CliResult<Printout> show_slo(Session& session) {
  TRY_ASSIGN(const JsonValue answer, session.get("/v1/slo"));
  if (session.json()) return Printout{.text = std::string(answer.raw()) + "\n"};
  const JsonValue items = answer.at("items");
  std::vector<JsonValue> rows;
  rows.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) rows.push_back(items.at(i));
  return Printout{.text = render_items(rows, columns())};
}

}  // namespace carillon
