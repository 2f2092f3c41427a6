// How a configuration is shown, and the flags that the command line offers.
#include <fmt/format.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "daemon/config.h"
#include "daemon/config_settings.h"

namespace carillon::daemon {

namespace {

std::string_view to_string(ConfigSource source) {
  switch (source) {
    case ConfigSource::standard: return "default";
    case ConfigSource::file: return "file";
    case ConfigSource::environment: return "environment";
    case ConfigSource::flag: return "flag";
  }
  return {};
}

std::string handler_json(const HandlerDefinition& handler) {
  JsonObject out;
  out.text("type", handler.type);
  if (const auto* exec = std::get_if<ExecDefinition>(&handler.work)) {
    // Only the program: its arguments may be secret.
    out.text("kind", "exec").text("runs", exec->argv.front());
  } else {
    out.text("kind", "email").text("smtp", std::get<EmailDefinition>(handler.work).smtp);
  }
  JsonArray tenants;
  for (const std::string& tenant : handler.tenants) tenants.raw(json_string(tenant));
  out.raw("tenants", handler.tenants.empty() ? json_string("all") : tenants.str());
  return out.str();
}

}  // namespace

std::vector<ServeFlag> serve_flags() {
  std::vector<ServeFlag> out;
  for (const Setting& setting : all_settings()) {
    for (const SettingName& name : setting.names) {
      if (name.flag.empty()) continue;
      out.push_back({.flag = name.flag, .key = name.key, .help = setting.help, .value_name = setting.value_name});
    }
  }
  return out;
}

std::string config_json(const LoadedConfig& loaded) {
  JsonArray items;
  for (const EffectiveSetting& setting : loaded.settings) {
    JsonObject item;
    item.text("key", setting.key);
    if (setting.value.empty()) {
      item.raw("value", "null");
    } else {
      item.text("value", setting.value);
    }
    item.text("source", to_string(setting.source)).text("origin", setting.origin);
    items.raw(item.str());
  }
  JsonArray handlers;
  for (const HandlerDefinition& handler : loaded.config.handlers) handlers.raw(handler_json(handler));
  JsonArray warnings;
  for (const std::string& warning : loaded.warnings) warnings.raw(json_string(warning));
  JsonObject out;
  out.raw("file", loaded.file ? json_string(*loaded.file) : "null");
  out.raw("items", items.str()).raw("handlers", handlers.str()).raw("warnings", warnings.str());
  return out.str();
}

}  // namespace carillon::daemon
