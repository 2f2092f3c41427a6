// `carillon tenants`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

CliResult<Printout> list_tenants(Session& session);
CliResult<Printout> create_tenant(Session& session, const std::string& name);
CliResult<Printout> delete_tenant(Session& session, const std::string& name);

// The settings of a tenant; of the session's if none is named.
CliResult<Printout> show_tenant(Session& session, const std::optional<std::string>& name);
// Each of `fields` is NAME=VALUE, the value JSON or a plain text; null clears.
CliResult<Printout> set_tenant(Session& session, const std::string& name, const std::vector<std::string>& fields);

// {"weight": 2} of {"weight=2"}. `what` names it in the error.
CliResult<std::string> fields_json(const std::vector<std::string>& fields);

}  // namespace carillon
