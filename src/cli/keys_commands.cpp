#include "cli/keys_commands.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/input.h"
#include "cli/listing.h"

namespace carillon {

CliResult<Printout> list_keys(Session& session) {
  static const std::vector<FieldColumn> columns{{.title = "ID", .show = field<"id">, .may_be_cut = false},
                                                {.title = "NAME", .show = field<"name">},
                                                {.title = "SCOPE", .show = field<"scope">},
                                                {.title = "TENANTS", .show = field<"tenants">},
                                                {.title = "EXPIRES", .show = field<"expires_at">},
                                                {.title = "CREATED", .show = field<"created_at">}};
  TRY_ASSIGN(const Session::Page page, session.list("/v1/keys", {}, {}));
  return print_list(session, page, columns, "no keys");
}

CliResult<Printout> create_key(Session& session, const KeyRequest& request) {
  JsonObject body;
  body.text("name", request.name).text("scope", request.scope);
  if (request.all_tenants) {
    body.text("tenants", "all");
  } else if (!request.tenants.empty()) {
    JsonArray tenants;
    for (const std::string& tenant : request.tenants) tenants.raw(json_string(tenant));
    body.raw("tenants", tenants.str());
  } else if (request.scope == "read" || request.scope == "worker" || request.scope == "tenant") {
    return cli_error(ExitCode::usage, fmt::format("a key of scope {} needs --for-tenant T or --all-tenants",
                                                  carillon::quoted(request.scope)));
  }
  TRY_ASSIGN(const auto expires_at, read_time("--expires-at", request.expires_at));
  if (expires_at) body.text("expires_at", *expires_at);
  TRY_ASSIGN(const JsonValue key, session.post("/v1/keys", body.str()));
  return print_done(session, key,
                    fmt::format("{}  {}  (shown only now)", key.at("id").as_string(), key.at("key").as_string()));
}

CliResult<Printout> delete_key(Session& session, const std::string& id) {
  TRY_ASSIGN(const JsonValue answer, session.remove(Session::path({"keys", id})));
  return print_done(session, answer, id + " deleted");
}

}  // namespace carillon
