// What building the tree of client commands has in common, whatever they are about.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/outcome.h"
#include "cli/session.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's own name.
namespace CLI {
class App;
}

namespace carillon {

class CommandTree {
 public:
  using Run = std::function<CliResult<Printout>(Session& session)>;
  using OnName = CliResult<Printout> (*)(Session& session, const std::string& name);

  // The command that is chosen leaves its exit code in `exit_code`.
  CommandTree(CLI::App& app, ExitCode& exit_code);
  CommandTree(const CommandTree&) = delete;
  CommandTree& operator=(const CommandTree&) = delete;
  ~CommandTree() = default;

  CLI::App& app() { return app_; }
  ExitCode& exit_code() { return exit_code_; }
  const std::shared_ptr<ClientOptions>& options() const { return options_; }

  // What `command` does once it was chosen, and none of its own commands. What it is given is kept alive by `run`.
  void on(CLI::App* command, Run run);
  // A group whose name alone lists.
  CLI::App* group(const std::string& name, const std::string& help, Run list);
  // A command about one thing.
  void add_named(CLI::App* parent, const std::string& verb, const std::string& help, OnName run);

  void add_options(CLI::App& command);
  static void add_paging(CLI::App* command, Paging& paging);
  static void add_priority(CLI::App& command, std::optional<int>& priority);

 private:
  CLI::App& app_;
  ExitCode& exit_code_;
  std::shared_ptr<ClientOptions> options_;
};

struct TriggerRequest;
// What can be said when something is run by hand.
void add_trigger_options(CLI::App& command, TriggerRequest& request);

// `carillon schedules …` and `carillon subjects …`.
void add_schedule_commands(CommandTree& tree);
void add_subject_commands(CommandTree& tree);

}  // namespace carillon
