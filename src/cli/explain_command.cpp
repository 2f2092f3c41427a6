#include "cli/explain_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "cli/listing.h"

namespace carillon {

namespace {

Cell detail_of(const JsonValue& step) {
  const JsonValue detail = step.at("detail");
  return {.text = detail.size() == 0 ? "" : std::string(detail.raw())};
}

const std::vector<FieldColumn>& step_columns() {
  static const std::vector<FieldColumn> all{{.title = "AT", .show = field<"at">, .may_be_cut = false},
                                            {.title = "WHAT", .show = field<"what">, .may_be_cut = false},
                                            {.title = "WHY", .show = field<"why">},
                                            {.title = "DETAIL", .show = detail_of}};
  return all;
}

// Whether it is a job's id or only looks like one, the server will say.
bool looks_like_job_id(std::string_view text) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return text.size() == kShape.size() && std::ranges::equal(text, kShape, [](unsigned char c, char shape) {
           return shape == 'x' ? std::isxdigit(c) != 0 : c == '-';
         });
}

std::string path_of(const Session& session, const std::string& what) {
  if (looks_like_job_id(what)) return session.tenant_path({"jobs", what, "explain"});
  // No schedule's name has a slash; a subject's may.
  const std::size_t slash = what.find('/');
  if (slash == std::string::npos) return session.tenant_path({"schedules", what, "explain"});
  const std::string schedule = what.substr(0, slash);
  const std::string subject = what.substr(slash + 1);
  return session.tenant_path({"schedules", schedule, "subjects", subject, "explain"});
}

}  // namespace

CliResult<Printout> explain(Session& session, const std::string& what) {
  TRY_ASSIGN(const JsonValue answer, session.get(path_of(session, what)));
  if (session.json()) return Printout{.text = std::string(answer.raw()) + "\n"};
  std::string out = harmless(answer.at("summary").as_string("nothing is known")) + "\n";
  if (!answer.at("next_at").is_null()) out += fmt::format("next: {}\n", harmless(shown_value(answer.at("next_at"))));
  std::vector<JsonValue> steps;
  for (std::size_t i = 0; i < answer.at("steps").size(); ++i) steps.push_back(answer.at("steps").at(i));
  if (!steps.empty()) out += "\n" + render_items(steps, step_columns());
  return Printout{.text = std::move(out)};
}

}  // namespace carillon
