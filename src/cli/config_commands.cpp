#include "cli/config_commands.h"

#include <fmt/format.h>

#include "cli/listing.h"
#include "cli/tenants_commands.h"
#include "daemon/own_handlers.h"

namespace carillon {

CliResult<Printout> show_config(Session& session) {
  TRY_ASSIGN(const JsonValue config, session.get("/v1/config"));
  return print_object(session, config);
}

CliResult<Printout> set_config(Session& session, const std::vector<std::string>& fields) {
  TRY_ASSIGN(std::string body, fields_json(fields));
  TRY_ASSIGN(const JsonValue config, session.put("/v1/config", std::move(body)));
  return print_object(session, config);
}

CliResult<Printout> check_config(const daemon::ServeFlags& flags, bool json) {
  TRY_ASSIGN(const daemon::LoadedConfig loaded, as_cli(daemon::load_config(flags, daemon::environment_of_process())));
  if (const std::vector<std::string> wrong = daemon::wrong_handlers(loaded.config); !wrong.empty()) {
    return cli_error(ExitCode::usage, fmt::format("{}", fmt::join(wrong, "; ")));
  }
  if (json) return Printout{.text = daemon::config_json(loaded) + "\n"};
  std::vector<std::vector<Cell>> rows;
  for (const daemon::EffectiveSetting& setting : loaded.settings) {
    const bool is_default = setting.source == daemon::ConfigSource::standard;
    rows.push_back({{.text = setting.key},
                    {.text = setting.value.empty() ? "-" : setting.value},
                    {.text = setting.origin, .colour = is_default ? Colour::grey : Colour::none}});
  }
  for (const daemon::HandlerDefinition& handler : loaded.config.handlers) {
    const bool is_exec = std::holds_alternative<daemon::ExecDefinition>(handler.work);
    rows.push_back({{.text = fmt::format("handlers.\"{}\"", handler.type)},
                    {.text = is_exec ? "exec" : "email"},
                    {.text = loaded.file.value_or("")}});
  }
  std::string out = render_table({{.title = "SETTING", .may_be_cut = false}, {.title = "VALUE"}, {.title = "FROM"}},
                                 rows, terminal_style());
  for (const std::string& warning : loaded.warnings) out += fmt::format("warning: {}\n", harmless(warning));
  return Printout{.text = std::move(out)};
}

}  // namespace carillon
