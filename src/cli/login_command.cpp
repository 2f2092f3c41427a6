#include "cli/login_command.h"

#include <fmt/format.h>

#include "base/json_writer.h"

namespace carillon {

CliResult<Printout> make_login_link(Session& session) {
  TRY_ASSIGN(const JsonValue link, session.post("/v1/login-links"));
  const std::string address = fmt::format("{}/#login={}", session.server(), link.at("token").as_string());
  if (!session.json()) return Printout{.text = address + "\n"};
  JsonObject out;
  out.text("link", address).text("expires_at", link.at("expires_at").as_string());
  return Printout{.text = out.str() + "\n"};
}

}  // namespace carillon
