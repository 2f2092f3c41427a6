// What a server runs with, and where each value came from.
//
//   TRY_ASSIGN(const LoadedConfig loaded, load_config(flags, environment_of_process()));
//   loaded.config.tick                // 1 s
//   loaded.pin("tick_ms")             // "environment WORKER_POLL_MS", or nothing if it is the default
//
// Flags rank over the environment, that over the file, that over defaults. Some things have several names (`tick_ms`,
// `SCHEDULER_TICK_MINUTES`, `WORKER_POLL_MS`): names that disagree are an error, as nobody can know which one was
// meant.
#pragma once

#include <carillon/mail.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "config/library_config.h"
#include "config/loader.h"
#include "core/time/duration.h"
#include "core/time/instant.h"

namespace carillon::daemon {

struct ListenAddress {
  std::string address = "127.0.0.1";  // an IPv4 or IPv6 address
  std::uint16_t port = 7440;          // 0: any that is free

  bool is_loopback() const;
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

// A wall clock for rehearsals: begins at `start` and runs `speed` times as fast as the real one.
struct ClockSetting {
  Instant start;
  double speed = 0;  // 0: stands still until it is moved
  friend bool operator==(const ClockSetting&, const ClockSetting&) = default;
};

// What callers may have under way at once.
struct HttpBounds {
  std::uint32_t budget_mb = 256;           // bodies and answers of all; one key has half of it
  std::uint32_t connections = 10'000;      // of all
  std::uint32_t connections_each = 8'000;  // of one address, and of one key
  std::uint32_t calls_each = 8'000;        // of one key, those that wait for a job included
};

// A program that runs a type's jobs: argv as it is, the payload on its standard input.
struct ExecDefinition {
  std::vector<std::string> argv;
  std::optional<std::string> cwd;
  std::optional<std::string> user;
  bool allow_root = false;
  std::optional<Duration> timeout;
  std::vector<std::string> limits;
  std::optional<std::uint64_t> memory_mb_max;
  std::optional<std::uint64_t> cpu_seconds_max;
  std::optional<std::uint64_t> file_mb_max;
  std::optional<std::uint64_t> open_files_max;
  std::optional<std::uint64_t> processes_max;
  friend bool operator==(const ExecDefinition&, const ExecDefinition&) = default;
};

// A mail for each of a type's jobs. Texts are templates: {{payload.a.b}}, {{job.id}}.
struct EmailDefinition {
  std::string smtp;  // smtp://HOST:PORT or smtps://HOST:PORT
  StartTls starttls = StartTls::attempt;
  std::optional<std::string> username;
  std::optional<std::string> password_file;
  std::string from;
  std::string to;
  bool to_list = false;  // one {{…}} of it may give several addresses
  std::optional<std::string> cc;
  bool cc_list = false;
  std::string subject;
  std::string text;
  std::optional<std::string> html;
  std::optional<std::string> attachments;  // one {{…}} that gives a list
  std::optional<Duration> timeout;
  std::vector<std::string> limits;
  friend bool operator==(const EmailDefinition&, const EmailDefinition&) = default;
};

struct HandlerDefinition {
  std::string type;
  std::vector<std::string> tenants;  // whose jobs it runs; none named: anybody's
  std::variant<ExecDefinition, EmailDefinition> work;
  friend bool operator==(const HandlerDefinition&, const HandlerDefinition&) = default;
};

struct ServerConfig : config::LibraryConfig {
  std::string db = "sqlite:carillon.db";
  ListenAddress listen;
  bool behind_proxy = false;  // TLS and the client's address are the proxy's business
  std::optional<ClockSetting> clock;
  std::optional<std::string> admin_key;
  HttpBounds http;
  std::vector<std::string> webhooks_allow;  // besides public addresses: ADDRESS, NETWORK/BITS or NAME, each with :PORT
  std::optional<std::string> webhooks_ca_file;  // whose certificates webhooks trust; nothing: the system's
  std::vector<HandlerDefinition> handlers;      // by type
};

// What was on the command line.
struct ServeFlags {
  std::optional<std::string> config;          // the file; nothing: carillon.toml, if there is one
  std::map<std::string, std::string> values;  // by setting, as in the file: {"max_concurrency", "8"}
};

using config::ConfigFile;
using config::ConfigSource;
using config::EffectiveSetting;
using config::Environment;
using config::environment_of_process;

struct LoadedConfig {
  ServerConfig config;
  std::vector<EffectiveSetting> settings;
  std::vector<std::string> warnings;  // what is probably a mistake, a line each
  std::optional<std::string> file;    // the one that was read

  // What keeps a setting from being changed while the server runs, by any of its names.
  std::optional<std::string> pin(std::string_view key) const;
  // All of them: every name of every setting that was given, and where.
  std::map<std::string, std::string> pins() const;
};

// Reads the file that `flags`, or CARILLON_CONFIG, or else the working folder names, and puts all together.
Result<LoadedConfig> load_config(const ServeFlags& flags, const Environment& environment);

// The same, from a text.
Result<LoadedConfig> load_config(const ServeFlags& flags, const Environment& environment,
                                 const std::optional<ConfigFile>& file);

// The flags of `carillon serve` that are settings.
struct ServeFlag {
  std::string flag;  // --max-concurrency
  std::string key;
  std::string help;
  std::string value_name;  // nothing: a switch
};
std::vector<ServeFlag> serve_flags();

// `carillon config check`: each setting, its value and where it came from.
std::string config_json(const LoadedConfig& loaded);

}  // namespace carillon::daemon
