#include "cli/tenants_commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "cli/input.h"
#include "cli/listing.h"
#include "core/jobs/job.h"

namespace carillon {

namespace {

// Items may be plain names, or objects with one.
Cell name_of(const JsonValue& item) {
  if (item.is_string()) return {.text = item.as_string()};
  return {.text = shown_value(item.at(item.contains("name") ? "name" : "tenant"))};
}

Cell rest_of(const JsonValue& item) {
  std::vector<std::string> parts;
  for (const std::string& key : item.keys()) {
    if (key == "name" || key == "tenant" || item.at(key).is_null()) continue;
    parts.push_back(fmt::format("{}={}", key, shown_value(item.at(key))));
  }
  return {.text = fmt::format("{}", fmt::join(parts, " "))};
}

}  // namespace

CliResult<std::string> fields_json(const std::vector<std::string>& fields) {
  JsonObject out;
  std::vector<std::string> seen;
  for (const std::string& text : fields) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == std::string::npos || name.empty() || std::ranges::find(seen, name) != seen.end()) {
      return cli_error(ExitCode::usage, fmt::format("{}: must be NAME=VALUE, each name once", quoted(text)));
    }
    seen.push_back(name);
    out.raw(name, json_or_string(text.substr(equals + 1)));
  }
  return out.str();
}

CliResult<Printout> list_tenants(Session& session) {
  static const std::vector<FieldColumn> columns{{.title = "TENANT", .show = name_of}, {.title = "", .show = rest_of}};
  TRY_ASSIGN(const Session::Page page, session.list("/v1/tenants", {}, {}));
  return print_list(session, page, columns, "no tenants");
}

CliResult<Printout> create_tenant(Session& session, const std::string& name) {
  TRY(as_cli(check_name("tenant", name)));
  TRY_ASSIGN(const JsonValue answer, session.put(Session::path({"tenants", name}), "{}"));
  return print_done(session, answer, name + " created");
}

CliResult<Printout> delete_tenant(Session& session, const std::string& name) {
  TRY(as_cli(check_name("tenant", name)));
  TRY_ASSIGN(const JsonValue answer, session.remove(Session::path({"tenants", name})));
  const bool goes_on = answer.is_object() && answer.contains("state");
  return print_done(session, answer,
                    name + (goes_on ? " is being deleted: what is left goes in the background" : " deleted"));
}

CliResult<Printout> show_tenant(Session& session, const std::optional<std::string>& name) {
  const std::string tenant = name.value_or(session.tenant());
  TRY(as_cli(check_name("tenant", tenant)));
  TRY_ASSIGN(const JsonValue settings, session.get(Session::path({"tenants", tenant, "settings"})));
  return print_object(session, settings);
}

CliResult<Printout> set_tenant(Session& session, const std::string& name, const std::vector<std::string>& fields) {
  TRY(as_cli(check_name("tenant", name)));
  TRY_ASSIGN(std::string body, fields_json(fields));
  TRY_ASSIGN(const JsonValue settings, session.put(Session::path({"tenants", name, "settings"}), std::move(body)));
  return print_object(session, settings);
}

}  // namespace carillon
