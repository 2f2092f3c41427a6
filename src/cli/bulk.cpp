#include "cli/bulk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "base/json_writer.h"
#include "cli/input.h"
#include "cli/listing.h"
#include "cli/progress.h"

namespace carillon {

namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 9> kFilters{"state", "type", "queue", "schedule", "subject",
                                                   "tag",   "text", "since", "until"};
constexpr std::chrono::milliseconds kPollMin = 50ms;
constexpr std::chrono::milliseconds kPollMax = 1s;

CliResult<std::string> filter_json(const BulkCommand& command) {
  JsonObject out;
  if (command.state) out.text("state", *command.state);
  std::vector<std::string> seen;
  for (const std::string& filter : command.filters) {
    const std::size_t equals = filter.find('=');
    const std::string name = filter.substr(0, equals);
    const bool known = std::ranges::find(kFilters, name) != kFilters.end();
    const bool again = std::ranges::find(seen, name) != seen.end() || (name == "state" && command.state);
    if (equals == std::string::npos || !known || again) {
      return cli_error(ExitCode::usage, fmt::format("--filter {}: must be NAME=VALUE, each name once, with one of {}",
                                                    quoted(filter), fmt::join(kFilters, ", ")));
    }
    seen.push_back(name);
    std::string value = filter.substr(equals + 1);
    if (name == "since" || name == "until") {
      TRY_ASSIGN(const auto at, read_time("--filter " + name, value));
      value = *at;
    }
    out.text(name, value);
  }
  return out.str();
}

std::string sentence(const std::string& action, const JsonValue& bulk) {
  const std::int64_t failed = bulk.at("failed").as_int();
  return fmt::format("{} {}: {} jobs{}", action, bulk.at("state").as_string("?"), bulk.at("done").as_int(),
                     failed == 0 ? "" : fmt::format(", {} could not be changed", failed));
}

}  // namespace

CliResult<Printout> run_bulk(Session& session, const BulkCommand& command) {
  if (command.filters.empty() && !command.all) {
    return cli_error(ExitCode::usage, "name a job, or many with --filter NAME=VALUE, or every one with --all");
  }
  if (!command.filters.empty() && command.all) {
    return cli_error(ExitCode::usage, "name many with --filter, or every one with --all; not both");
  }
  JsonObject body;
  body.text("action", command.action);
  if (command.filters.empty() && !command.state) {
    body.boolean("all", true);
  } else {
    TRY_ASSIGN(const std::string filter, filter_json(command));
    body.raw("filter", filter);
  }
  if (command.rate) body.raw("rate", fmt::to_string(*command.rate));

  TRY_ASSIGN(JsonValue bulk, session.post(session.tenant_path({"jobs", "bulk"}), body.str()));
  return finish_bulk(session, std::move(bulk), {.action = command.action, .detach = command.detach});
}

CliResult<Printout> finish_bulk(Session& session, JsonValue bulk, const BulkEnd& end) {
  const std::string id = bulk.at("id").as_string();
  if (end.detach) return print_done(session, bulk, id);

  ProgressBar bar(end.action);
  std::chrono::milliseconds wait = kPollMin;
  for (;;) {
    TRY_ASSIGN(bulk, session.get(session.tenant_path({"bulk", id})));
    bar.show({.done = bulk.at("done").as_int() + bulk.at("failed").as_int(), .total = bulk.at("total").as_int()});
    // An answer without a state would never end.
    if (bulk.at("state").as_string() != "running") break;
    std::this_thread::sleep_for(wait);
    wait = std::min(wait * 2, kPollMax);
  }
  bar.clear();
  Printout out = print_done(session, bulk, sentence(end.action, bulk));
  const bool all_well = bulk.at("state").as_string() == "done" && bulk.at("failed").as_int() == 0;
  if (!all_well) out.code = ExitCode::failed;
  return out;
}

}  // namespace carillon
