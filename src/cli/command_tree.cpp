#include "cli/command_tree.h"

#include <CLI/CLI.hpp>
#include <map>
#include <utility>

#include "cli/terminal.h"

namespace carillon {

namespace {

CliResult<Printout> run_in_session(const ClientOptions& options, const CommandTree::Run& run) {
  TRY_ASSIGN(ClientTarget target, client_target(options));
  Session session(std::move(target), {.json = options.json || !stdout_is_terminal()});
  return run(session);
}

}  // namespace

CommandTree::CommandTree(CLI::App& app, ExitCode& exit_code)
    : app_(app), exit_code_(exit_code), options_(std::make_shared<ClientOptions>()) {}

void CommandTree::on(CLI::App* command, Run run) {
  add_options(*command);
  command->callback([command, run = std::move(run), options = options_, &exit_code = exit_code_] {
    if (command->get_subcommands().empty()) exit_code = finish(run_in_session(*options, run));
  });
}

CLI::App* CommandTree::group(const std::string& name, const std::string& help, Run list) {
  CLI::App* command = app_.add_subcommand(name, help);
  command->require_subcommand(0, 1);
  on(command, std::move(list));
  return command;
}

void CommandTree::add_named(CLI::App* parent, const std::string& verb, const std::string& help, OnName run) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = parent->add_subcommand(verb, help);
  command->add_option("name", *name, "Its name")->required()->type_name("NAME");
  on(command, [name, run](Session& session) { return run(session, *name); });
}

void CommandTree::add_options(CLI::App& command) {
  command.add_option("--server", options_->server, "Where the server is (default http://127.0.0.1:7440)")
      ->type_name("URL")
      ->group("Server");
  command.add_option("--tenant", options_->tenant, "Whose jobs (default: default)")
      ->type_name("TENANT")
      ->group("Server");
  command.add_option("--key-file", options_->key_file, "File with the key (default CARILLON_KEY, then ./carillon.key)")
      ->type_name("FILE")
      ->group("Server");
  command.add_flag("--json", options_->json, "JSON, also on a terminal")->group("Server");
}

void CommandTree::add_paging(CLI::App* command, Paging& paging) {
  command->add_option("--limit", paging.limit, "How many, 1 to 500 (default 50)")->type_name("N");
  command->add_option("--cursor", paging.cursor, "Go on where the last page ended")->type_name("CURSOR");
  command->add_flag("--all", paging.all, "Every page");
}

void CommandTree::add_priority(CLI::App& command, std::optional<int>& priority) {
  CLI::CheckedTransformer names(
      std::map<std::string, int>{{"critical", 1}, {"high", 2}, {"medium", 3}, {"low", 4}, {"bulk", 5}});
  names.description("");  // the text of the option says it
  command.add_option("--priority", priority, "1 to 5, or critical, high, medium, low, bulk")
      ->type_name("P")
      ->transform(names);
}

}  // namespace carillon
