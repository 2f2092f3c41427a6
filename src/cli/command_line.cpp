#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/nearest_name.h"
#include "carillon/job_state.h"
#include "carillon/version.h"
#include "cli/client_commands.h"
#include "cli/completion.h"
#include "cli/outcome.h"
#include "cli/preview_command.h"
#include "cli/serve_flags.h"
#include "core/time/zone.h"
#include "core/triggers/trigger_kind.h"
#include "daemon/serve.h"

namespace carillon {

namespace {

ExitCode print_or_complain(const Result<std::string>& result) {
  if (result) return print(*result);
  return complain(result.error().message, exit_code(result.error().code));
}

std::vector<std::string> state_names() {
  std::vector<std::string> names;
  for (const JobState state : kJobStates) names.emplace_back(to_string(state));
  return names;
}

std::string preview_footer() {
  std::string text = "\nTriggers:\n";
  const auto add = [&](std::string_view form, std::string_view means) {
    text += fmt::format("  {:<29} {}\n", form, means);
  };
  for (const TriggerKind* const kind : trigger_kinds()) {
    if (!kind->example.empty()) add(kind->example, kind->means);
  }
  add("@file.json", "a trigger or a whole schedule as JSON");
  return text +
         "\nTimes: 2026-03-29T01:00:00Z, Unix milliseconds, or local time in --timezone: 2026-03-29T09:00, 2026-03-29.";
}

std::vector<std::string> preview_forms() {
  std::vector<std::string> forms;
  for (const TriggerKind* const kind : trigger_kinds()) {
    if (!kind->example.empty()) forms.push_back(fmt::format("{}:", kind->name));
  }
  forms.emplace_back("@");
  return forms;
}

class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", std::string(version()), "Print the version");
    add_serve();
    add_client_commands(app_, exit_code_);
    add_preview();
    add_version();
    add_completion();
  }

  int run(int argc, char** argv) {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    if (!words.empty() && words.front() == kCompleteCommand) {
      return static_cast<int>(complete_words({words.begin() + 1, words.end()}));
    }
    try {
      app_.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
      app_.exit(help);
      return 0;
    } catch (const CLI::CallForVersion&) {
      return static_cast<int>(print(fmt::format("{}\n", version())));
    } catch (const CLI::ParseError& error) {
      const CLI::App* command = &app_;
      std::string path = "carillon";
      std::string written;  // the words that are commands
      std::size_t depth = 0;
      while (!command->get_subcommands().empty()) {
        command = command->get_subcommands().front();
        path += " " + command->get_name();
        written += command->get_name() + " ";
        ++depth;
      }
      const bool takes_command = !command->get_subcommands([](const CLI::App*) { return true; }).empty();
      if (takes_command && depth < words.size() && !words[depth].starts_with('-')) {
        return static_cast<int>(
            complain(unknown_command(*command, words[depth], written + words[depth]), ExitCode::usage));
      }
      return static_cast<int>(complain(fmt::format("{} (see {} --help)", error.what(), path), ExitCode::usage));
    }
    return static_cast<int>(exit_code_);
  }

 private:
  void add_serve() {
    CLI::App* command = app_.add_subcommand("serve", "Run the server: engine, HTTP API and page in one process");
    add_serve_flags(*command, serve_flags_);
    command->callback([this] { exit_code_ = static_cast<ExitCode>(daemon::serve(serve_flags_)); });
  }

  void add_preview() {
    CLI::App* command = app_.add_subcommand("preview", "The next times of a trigger, clock changes marked; offline");
    command->add_option("trigger", preview_.trigger, "What fires; see below")->required()->type_name("TRIGGER");
    command
        ->add_option("--timezone", preview_.timezone,
                     "IANA zone of local times (default: that of the configuration, else UTC)")
        ->type_name("ZONE");
    command->add_option("--from", preview_.from, "Show times from here on (default now)")->type_name("TIME");
    command->add_option("--count", preview_.count, "How many to show, 1 to 10000 (default 10)")->type_name("N");
    command->add_option("--start", preview_.start, "DTSTART of an rrule, anchor of every (default --from)")
        ->type_name("TIME");
    command->add_option("--dst-gap", preview_.dst_gap, "A local time that does not exist: shift, skip, next_valid")
        ->type_name("POLICY");
    command->add_option("--dst-overlap", preview_.dst_overlap, "A local time that exists twice: first, second, both")
        ->type_name("POLICY");
    command->add_flag("--json", preview_.json, "JSON, also on a terminal");
    command->footer(preview_footer());
    command->callback([this] { exit_code_ = print_or_complain(run_preview(preview_, system_now())); });
  }

  void add_version() {
    app_.add_subcommand("version", "Print the version")->callback([this] {
      exit_code_ = print(fmt::format("{}\n", version()));
    });
  }

  void add_completion() {
    CLI::App* command =
        app_.add_subcommand("completion", "Print a shell's completion script: eval \"$(carillon completion bash)\"");
    command->add_option("shell", shell_, "bash")->required()->check(CLI::IsMember({"bash"}))->type_name("SHELL");
    command->callback([this] { exit_code_ = print(std::string(bash_completion_script())); });
  }

  // What the completion script calls. Its words are not for the parser: they are unfinished.
  ExitCode complete_words(const std::vector<std::string>& words) const {
    const ValueHints hints{
        {"--timezone", Zone::names()},
        {"--dst-gap", {"shift", "skip", "next_valid"}},
        {"--dst-overlap", {"first", "second", "both"}},
        {"preview", preview_forms()},
        {"completion", {"bash"}},
        {"--state", state_names()},
        {"--status", {"success", "cutoff_reached", "skipped", "missed", "cancelled", "none"}},
        {"--scope", {"read", "worker", "tenant", "admin"}},
        {"--log-level", {"debug", "info", "warn", "error"}},
        {"--log-format", {"auto", "json", "text"}},
        {"--filter", {"state=", "type=", "queue=", "schedule=", "subject=", "tag=", "text=", "since=", "until="}}};
    std::string out;
    for (const std::string& word : complete(app_, hints, words)) out += word + "\n";
    return print(out);
  }

  // `name` is no command of `parent`, which takes one.
  static std::string unknown_command(const CLI::App& parent, std::string_view name, std::string_view path) {
    std::vector<std::string> known;
    for (const CLI::App* command : parent.get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(command->get_name());
    }
    return fmt::format("unknown command {}{}; allowed are {}", quoted(path), did_you_mean(name, known),
                       fmt::join(known, ", "));
  }

  CLI::App app_{"Carillon: a durable, multi-tenant job scheduler", "carillon"};
  PreviewRequest preview_;
  daemon::ServeFlags serve_flags_;
  std::string shell_;
  ExitCode exit_code_ = ExitCode::done;
};

}  // namespace

int run_command_line(int argc, char** argv) {
  try {
    return CommandLine().run(argc, argv);
  } catch (const std::exception& error) {
    // From a library, or out of memory: our own code returns its errors.
    return static_cast<int>(complain(fmt::format("unexpected failure: {}", error.what()), ExitCode::failed));
  }
}

}  // namespace carillon
