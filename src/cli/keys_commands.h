// `carillon keys`: who may call the server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

struct KeyRequest {
  std::string name;
  std::string scope;
  std::vector<std::string> tenants;
  bool all_tenants = false;
  std::optional<std::string> expires_at;
};

CliResult<Printout> list_keys(Session& session);
// The only time that the key itself can be seen.
CliResult<Printout> create_key(Session& session, const KeyRequest& request);
CliResult<Printout> delete_key(Session& session, const std::string& id);

}  // namespace carillon
