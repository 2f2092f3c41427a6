#include "daemon/config_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <fstream>
#include <limits>
#include <utility>

#include "config/values.h"
#include "daemon/config_address.h"

namespace carillon::daemon {

namespace {

using namespace std::chrono_literals;

using config::named;
using config::read_list;
using config::read_number;
using Of = config::Kinds<ServerConfig>;

Result<void> check_db(const std::string& url) {
  const bool names_file = url.starts_with("sqlite:") && url.size() > std::string_view("sqlite:").size();
  if (names_file || url == "memory:") return {};
  return invalid_request("sqlite:PATH or memory:");
}

// A folder can be opened, but not read.
Result<void> check_readable(const std::string& path) {
  std::ifstream file(path);
  if (file && file.peek() != std::ifstream::traits_type::eof()) return {};
  return invalid_request("a file that can be read and is not empty");
}

Result<void> check_admin_key(const std::string& key) {
  constexpr std::size_t kSecretMin = 32;
  constexpr std::size_t kBytesMax = 200;
  const bool is_plain = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; });
  const std::size_t dot = key.find('.');
  const bool has_parts = dot != std::string::npos && dot > 0 && key.size() - dot - 1 >= kSecretMin;
  if (is_plain && has_parts && key.size() <= kBytesMax) return {};
  return invalid_request(fmt::format("ID.SECRET, the secret of {} or more printable characters", kSecretMin));
}

Result<ClockSetting> parse_clock(const std::string& text) {
  constexpr double kSpeedMax = 1'000'000;
  const auto refuse = [] {
    return invalid_request(
        "START@SPEED: an instant and how many times real speed, 0 to 1000000, such as 2026-03-28T23:00:00Z@600");
  };
  const std::size_t at_sign = text.rfind('@');
  if (at_sign == std::string::npos) return refuse();
  const auto start = parse_instant(std::string_view(text).substr(0, at_sign));
  const auto speed = read_number({.kind = GivenValue::Kind::plain, .text = text.substr(at_sign + 1), .items = {}},
                                 {.min = 0, .max = kSpeedMax});
  if (!start || !speed) return refuse();
  return ClockSetting{.start = *start, .speed = *speed};
}

Setting listen_setting() {
  Setting setting{.names = {named("listen", {.flag = "--listen"})},
                  .help = "Where to listen; beyond this machine only with --behind-proxy",
                  .value_name = "ADDR:PORT"};
  setting.set = [](const GivenValue& value, const SettingName& /*name*/, ServerConfig& into) -> Result<void> {
    const bool is_text = value.kind == GivenValue::Kind::plain || value.kind == GivenValue::Kind::text;
    TRY_ASSIGN(into.listen, parse_listen(is_text ? std::string_view(value.text) : std::string_view()));
    return {};
  };
  setting.show = [](const ServerConfig& config) { return format_listen(config.listen); };
  return setting;
}

Setting clock_setting() {
  Setting setting{.names = {named("clock", {.flag = "--clock"})},
                  .help = "Rehearse on a virtual wall clock; SQLite only",
                  .value_name = "START@SPEED"};
  setting.set = [](const GivenValue& value, const SettingName& /*name*/, ServerConfig& into) -> Result<void> {
    const bool is_text = value.kind == GivenValue::Kind::plain || value.kind == GivenValue::Kind::text;
    TRY_ASSIGN(into.clock, parse_clock(is_text ? value.text : std::string()));
    return {};
  };
  setting.show = [](const ServerConfig& config) -> std::optional<std::string> {
    if (!config.clock) return std::nullopt;
    return fmt::format("{}@{}", format_instant(config.clock->start), config.clock->speed);
  };
  return setting;
}

Setting allow_setting() {
  Setting setting{.names = {named("webhooks.allow")},
                  .help = "What webhooks may reach besides public addresses",
                  .value_name = "ADDRESS,…"};
  setting.set = [](const GivenValue& value, const SettingName& /*name*/, ServerConfig& into) -> Result<void> {
    TRY_ASSIGN(std::vector<std::string> entries, read_list(value));
    for (const std::string& entry : entries) {
      if (const auto checked = check_allow_entry(entry); !checked) {
        return invalid_request(fmt::format("{}; {} is none", checked.error().message, quoted(entry)));
      }
    }
    into.webhooks_allow = std::move(entries);
    return {};
  };
  setting.show = [](const ServerConfig& config) -> std::optional<std::string> {
    if (config.webhooks_allow.empty()) return std::nullopt;
    return fmt::format("{}", fmt::join(config.webhooks_allow, ","));
  };
  return setting;
}

Setting db_setting() {
  Setting setting = Of::text(named("db", {.flag = "--db"}), "The database", "URL", Of::at(&ServerConfig::db), check_db);
  setting.show = [](const ServerConfig& config) { return carillon::config::without_password(config.db); };
  return setting;
}

Setting admin_key_setting() {
  Setting setting = Of::text(named("admin_key"), "The admin key to begin with", "KEY", Of::at(&ServerConfig::admin_key),
                             check_admin_key);
  setting.is_secret = true;
  setting.show = [](const ServerConfig& config) -> std::optional<std::string> {
    if (!config.admin_key) return std::nullopt;
    return "(set)";
  };
  return setting;
}

// Those of the library are the server's as well.
void add(std::vector<Setting>& out, const std::vector<config::Setting<config::LibraryConfig>>& more) {
  for (const auto& setting : more) out.push_back(config::of_derived<ServerConfig>(setting));
}

void add_server(std::vector<Setting>& out) {
  out.push_back(db_setting());
  out.push_back(listen_setting());
  out.push_back(Of::boolean(named("behind_proxy", {.flag = "--behind-proxy"}),
                            "A proxy in front does TLS; needed to listen beyond this machine",
                            Of::at(&ServerConfig::behind_proxy)));
  add(out, config::event_log_settings());
  out.push_back(clock_setting());
  out.push_back(admin_key_setting());
  add(out, config::log_settings());
}

void add_http(std::vector<Setting>& out) {
  const auto http = [](auto member) { return Of::inside(&ServerConfig::http, member); };
  out.push_back(Of::count({named("http.budget_mb")}, "Bodies and answers under way, in MiB",
                          {.min = 128, .max = 1'048'576}, http(&HttpBounds::budget_mb)));
  out.push_back(Of::count({named("http.connections")}, "Connections at once", {.min = 10, .max = 1'000'000},
                          http(&HttpBounds::connections)));
  out.push_back(Of::count({named("http.connections_each")}, "Connections at once from one address, and of one key",
                          {.min = 10, .max = 1'000'000}, http(&HttpBounds::connections_each)));
  out.push_back(Of::count({named("http.calls_each")}, "Calls of one key under way", {.min = 10, .max = 1'000'000},
                          http(&HttpBounds::calls_each)));
}

}  // namespace

const std::vector<Setting>& all_settings() {
  static const std::vector<Setting> settings = [] {
    std::vector<Setting> out;
    add_server(out);
    add(out, config::engine_settings());
    add_http(out);
    add(out, config::slo_settings());
    out.push_back(allow_setting());
    out.push_back(Of::text(named("webhooks.ca_file"), "Whose certificates webhooks trust over https", "FILE",
                           Of::at(&ServerConfig::webhooks_ca_file), check_readable));
    return out;
  }();
  return settings;
}

}  // namespace carillon::daemon
