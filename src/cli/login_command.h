// `carillon login`: a link that signs in once at the page, as the key that asks.
#pragma once

#include "cli/outcome.h"
#include "cli/session.h"

namespace carillon {

CliResult<Printout> make_login_link(Session& session);

}  // namespace carillon
