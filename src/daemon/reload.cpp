#include "daemon/reload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace carillon::daemon {

namespace {

constexpr auto kReloaded = std::to_array<std::string_view>(
    {"log.level", "webhooks.allow", "slo_eval_ms", "tick_budget_ms", "sat_ratio", "depth_avg_max", "job_p95_max_ms",
     "cutoff_rate_max", "dlq_max", "stalled_max", "breach_consecutive"});

bool is_reloaded(std::string_view key) { return std::ranges::find(kReloaded, key) != kReloaded.end(); }

const EffectiveSetting* find_setting(const LoadedConfig& loaded, std::string_view key) {
  const auto found = std::ranges::find(loaded.settings, key, &EffectiveSetting::key);
  return found == loaded.settings.end() ? nullptr : &*found;
}

std::string_view kind_of(const HandlerDefinition* handler) {
  if (handler == nullptr) return {};
  return std::holds_alternative<ExecDefinition>(handler->work) ? "exec" : "email";
}

void add_handler_changes(const ServerConfig& running, const ServerConfig& fresh, std::vector<ConfigChange>& out) {
  struct Pair {
    const HandlerDefinition* before = nullptr;
    const HandlerDefinition* after = nullptr;
  };
  std::map<std::string_view, Pair> by_type;
  for (const HandlerDefinition& handler : running.handlers) by_type[handler.type].before = &handler;
  for (const HandlerDefinition& handler : fresh.handlers) by_type[handler.type].after = &handler;
  for (const auto& [type, pair] : by_type) {
    if (pair.before != nullptr && pair.after != nullptr && *pair.before == *pair.after) continue;
    // Only the kind: the rest of a handler may be secret.
    out.push_back({.key = fmt::format("handlers.{}", quoted(type)),
                   .before = std::string(kind_of(pair.before)),
                   .after = std::string(kind_of(pair.after))});
  }
}

}  // namespace

LogLine ConfigChange::line() const {
  LogLine line(needs_restart ? LogLevel::warn : LogLevel::info,
               needs_restart ? "a setting has changed that takes a restart" : "a setting has changed");
  line.text("key", key).text("before", before).text("after", after);
  return line;
}

std::vector<ConfigChange> changes_between(const LoadedConfig& running, const LoadedConfig& fresh) {
  std::vector<ConfigChange> out;
  for (const EffectiveSetting& after : fresh.settings) {
    const EffectiveSetting* const before = find_setting(running, after.key);
    const std::string was = before == nullptr ? std::string() : before->value;
    // The admin key is shown as "(set)", whatever it is.
    const bool is_other_key = after.key == "admin_key" && running.config.admin_key != fresh.config.admin_key;
    if (was == after.value && !is_other_key) continue;
    out.push_back({.key = after.key, .before = was, .after = after.value, .needs_restart = !is_reloaded(after.key)});
  }
  add_handler_changes(running.config, fresh.config, out);
  return out;
}

LoadedConfig reloaded(LoadedConfig running, const LoadedConfig& fresh) {
  for (EffectiveSetting& setting : running.settings) {
    if (!is_reloaded(setting.key)) continue;
    if (const EffectiveSetting* const after = find_setting(fresh, setting.key)) setting = *after;
  }
  ServerConfig& config = running.config;
  config.log_level = fresh.config.log_level;
  config.webhooks_allow = fresh.config.webhooks_allow;
  const Duration window = config.slo.window;
  config.slo = fresh.config.slo;
  config.slo.window = window;
  config.handlers = fresh.config.handlers;
  return running;
}

}  // namespace carillon::daemon
