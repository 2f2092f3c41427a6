#include <carillon/settings.h>

#include <iterator>
#include <utility>

#include "config/library_config.h"
#include "config/loader.h"

namespace carillon {

namespace {

const std::vector<config::Setting<config::LibraryConfig>>& library_settings() {
  static const std::vector<config::Setting<config::LibraryConfig>> settings = [] {
    std::vector<config::Setting<config::LibraryConfig>> out;
    for (auto part :
         {config::event_log_settings(), config::log_settings(), config::engine_settings(), config::slo_settings()}) {
      std::ranges::move(part, std::back_inserter(out));
    }
    return out;
  }();
  return settings;
}

}  // namespace

Result<EngineSettings> load_settings(const SettingSources& from) {
  config::Sources sources{.values = from.values, .values_are = "given by the program"};
  sources.environment = from.environment ? *from.environment : config::environment_of_process();
  if (!from.file.empty()) {
    TRY_ASSIGN(sources.file, config::read_config_file(from.file, "named by the program"));
  }
  TRY_ASSIGN(auto loaded, config::load(library_settings(), sources));
  const auto is_given = [&](std::string_view key) {
    return config::pin_of(library_settings(), loaded.settings, key).has_value();
  };
  EngineSettings out;
  out.engine = config::engine_options_of(loaded.config, is_given);
  out.slo = loaded.config.slo;
  out.log = {.level = loaded.config.log_level, .format = loaded.config.log_format};
  out.event_log = loaded.config.event_log.value_or("");
  out.warnings = std::move(loaded.warnings);
  return out;
}

}  // namespace carillon
