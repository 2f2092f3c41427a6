#include "cli/status_commands.h"

#include "cli/listing.h"

namespace carillon {

CliResult<Printout> show_status(Session& session) {
  TRY_ASSIGN(const JsonValue status, session.get("/v1/status"));
  return print_object(session, status);
}

}  // namespace carillon
