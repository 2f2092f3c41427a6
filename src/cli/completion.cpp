#include "cli/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace carillon {

namespace {

std::vector<const CLI::App*> subcommands(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

}  // namespace

std::vector<std::string> complete(const CLI::App& app, const ValueHints& hints, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const CLI::App* command = &app;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const auto known = subcommands(*command);
    const auto next = std::ranges::find(known, words[i], [](const CLI::App* sub) { return sub->get_name(); });
    if (next != known.end()) command = *next;
  }
  const std::string& current = words.back();
  std::vector<std::string> found;
  const auto offer = [&](const std::string& word) {
    if (word.starts_with(current)) found.push_back(word);
  };

  const bool at_option = current.starts_with('-');
  if (words.size() >= 2 && !at_option) {
    const auto values = hints.find(words[words.size() - 2]);
    if (values != hints.end()) {
      for (const std::string& value : values->second) offer(value);
      return found;
    }
  }
  if (at_option) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) offer("--" + name);
    }
    return found;
  }
  for (const CLI::App* subcommand : subcommands(*command)) {
    offer(subcommand->get_name());
  }
  return found;
}

std::string_view bash_completion_script() {
  return R"(_carillon() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _carillon carillon
)";
}

}  // namespace carillon
