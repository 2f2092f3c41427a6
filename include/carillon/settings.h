// The settings of an engine by their names, from a file, the environment and the program itself.
//
//   const auto settings = carillon::load_settings({.file = "app.toml"});      // tick_ms = 500, slo_eval_ms = 60000, …
//   if (!settings) return complain(settings.error().message);                 // one line: key, value, place, what is
//   allowed carillon::Engine engine{*store, settings->engine};
//
// The names are those of `carillon serve` (docs/configuration.md), but for what only a server has. What the program
// says ranks over the environment, that over the file, that over defaults. Names that set the same thing and disagree
// are an error. A setting that was given holds against what Client::put_config has stored.
#pragma once

#include <carillon/engine_options.h>
#include <carillon/error.h>
#include <carillon/log.h>
#include <carillon/slo.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace carillon {

struct SettingSources {
  std::string file;                                               // a path; "": none
  std::map<std::string, std::string> values;                      // by name, as in the file: {"max_concurrency", "8"}
  std::optional<std::map<std::string, std::string>> environment;  // nothing: that of the process
};

struct EngineSettings {
  EngineOptions engine;
  SloOptions slo;
  LogOptions log;
  std::string event_log;              // the path of the event log; "": none
  std::vector<std::string> warnings;  // what is probably a mistake, a line each
};

// Errors: invalid_configuration.
Result<EngineSettings> load_settings(const SettingSources& from = {});

}  // namespace carillon
