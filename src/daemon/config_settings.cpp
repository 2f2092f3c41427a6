#include "daemon/config_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <fstream>
#include <limits>
#include <utility>

#include "core/job.h"
#include "core/settings.h"
#include "core/trigger.h"
#include "core/zone.h"
#include "daemon/config_address.h"
#include "daemon/config_values.h"

namespace carillon::daemon {

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kWeekMs = std::int64_t{7} * 24 * kHourMs;
constexpr std::int64_t kNodeConcurrencyMax = 10'000;
constexpr double kDepthMax = 1e9;

// tick_ms is CARILLON_TICK_MS in the environment, worker.poll_ms CARILLON_WORKER_POLL_MS.
std::string environment_name(std::string_view key) {
  std::string out = "CARILLON_";
  for (const char c : key) {
    out += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return out;
}

struct NameOptions {
  std::string_view also;  // another name in the environment
  std::string_view flag;
  std::int64_t scale = 1;
};

SettingName named(std::string_view key, const NameOptions& options = {}) {
  SettingName name{.key = std::string(key), .environment = {environment_name(key)}, .flag = std::string(options.flag)};
  if (!options.also.empty()) name.environment.emplace_back(options.also);
  name.scale = options.scale;
  return name;
}

// The member at the end of a path of members: slo, then eval.
template <typename Outer, typename Inner>
auto inside(Outer ServerConfig::* outer, Inner Outer::* inner) {
  return [outer, inner](auto& config) -> auto& { return (config.*outer).*inner; };
}

template <typename T>
auto at(T ServerConfig::* member) {
  return [member](auto& config) -> auto& { return config.*member; };
}

// Whole milliseconds (or what `unit` is) in the names, a duration in the configuration.
template <typename Member>
Setting span(std::vector<SettingName> names, std::string help, IntegerRange range, Member member, Duration unit = 1ms) {
  Setting setting{.names = std::move(names), .help = std::move(help), .value_name = "N"};
  setting.set = [=](const GivenValue& value, const SettingName& name, ServerConfig& into) -> Result<void> {
    const IntegerRange scaled{.min = (range.min + name.scale - 1) / name.scale, .max = range.max / name.scale};
    TRY_ASSIGN(const std::int64_t count, read_integer(value, scaled));
    member(into) = unit * (count * name.scale);
    return {};
  };
  setting.show = [=](const ServerConfig& config) -> std::optional<std::string> {
    if constexpr (requires { member(config).has_value(); }) {
      if (!member(config)) return std::nullopt;
      return fmt::to_string(*member(config) / unit);
    } else {
      return fmt::to_string(member(config) / unit);
    }
  };
  return setting;
}

template <typename Member>
Setting count(std::vector<SettingName> names, std::string help, IntegerRange range, Member member) {
  Setting setting{.names = std::move(names), .help = std::move(help), .value_name = "N"};
  setting.set = [=](const GivenValue& value, const SettingName& /*name*/, ServerConfig& into) -> Result<void> {
    TRY_ASSIGN(const std::int64_t read, read_integer(value, range));
    member(into) = static_cast<std::uint32_t>(read);
    return {};
  };
  setting.show = [=](const ServerConfig& config) -> std::optional<std::string> {
    if constexpr (requires { member(config).has_value(); }) {
      if (!member(config)) return std::nullopt;
      return fmt::to_string(*member(config));
    } else {
      if (member(config) == 0) return std::nullopt;
      return fmt::to_string(member(config));
    }
  };
  return setting;
}

template <typename Member>
Setting number(std::string_view key, std::string help, NumberRange range, Member member) {
  Setting setting{.names = {named(key)}, .help = std::move(help), .value_name = "N"};
  setting.set = [=](const GivenValue& value, const SettingName& /*name*/, ServerConfig& into) -> Result<void> {
    TRY_ASSIGN(member(into), read_number(value, range));
    return {};
  };
  setting.show = [=](const ServerConfig& config) { return fmt::format("{}", member(config)); };
  return setting;
}

template <typename Member>
Setting duration(SettingName name, std::string help, DurationRange range, Member member) {
  Setting setting{.names = {std::move(name)}, .help = std::move(help), .value_name = "DURATION"};
  setting.set = [=](const GivenValue& value, const SettingName& /*name*/, ServerConfig& into) -> Result<void> {
    TRY_ASSIGN(member(into), read_duration(value, range));
    return {};
  };
  setting.show = [=](const ServerConfig& config) { return format_duration(member(config)); };
  return setting;
}

template <typename Member>
Setting boolean(SettingName name, std::string help, Member member) {
  Setting setting{.names = {std::move(name)}, .help = std::move(help)};
  setting.set = [=](const GivenValue& value, const SettingName& /*name*/, ServerConfig& into) -> Result<void> {
    TRY_ASSIGN(member(into), read_boolean(value));
    return {};
  };
  setting.show = [=](const ServerConfig& config) -> std::optional<std::string> {
    if constexpr (requires { member(config).has_value(); }) {
      if (!member(config)) return std::nullopt;
      return *member(config) ? "true" : "false";
    } else {
      return member(config) ? "true" : "false";
    }
  };
  return setting;
}

// A text that `check` takes; its error says what is allowed.
template <typename Member, typename Check>
Setting text(SettingName name, std::string help, std::string value_name, Member member, Check check) {
  Setting setting{.names = {std::move(name)}, .help = std::move(help), .value_name = std::move(value_name)};
  setting.set = [=](const GivenValue& value, const SettingName& /*name*/, ServerConfig& into) -> Result<void> {
    TRY_ASSIGN(std::string read, read_text(value));
    TRY(check(read));
    member(into) = std::move(read);
    return {};
  };
  setting.show = [=](const ServerConfig& config) -> std::optional<std::string> { return member(config); };
  return setting;
}

template <typename E, std::size_t kCount>
Setting choice(SettingName name, std::string help, const std::array<std::pair<std::string_view, E>, kCount>& words,
               E ServerConfig::* member) {
  std::vector<std::string_view> known;
  for (const auto& [word, value] : words) known.push_back(word);
  Setting setting{
      .names = {std::move(name)}, .help = std::move(help), .value_name = fmt::format("{}", fmt::join(known, "|"))};
  setting.set = [=](const GivenValue& value, const SettingName& /*name*/, ServerConfig& into) -> Result<void> {
    const bool is_text = value.kind == GivenValue::Kind::plain || value.kind == GivenValue::Kind::text;
    const auto found = std::ranges::find(words, value.text, &std::pair<std::string_view, E>::first);
    if (!is_text || found == words.end()) return invalid_request(fmt::format("one of {}", fmt::join(known, ", ")));
    into.*member = found->second;
    return {};
  };
  setting.show = [=](const ServerConfig& config) {
    return std::string(std::ranges::find(words, config.*member, &std::pair<std::string_view, E>::second)->first);
  };
  return setting;
}

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

Result<void> check_zone(const std::string& zone) {
  if (Zone::load(zone)) return {};
  return invalid_request("a zone of the IANA database, such as Europe/London");
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
  Setting setting = text(named("db", {.flag = "--db"}), "The database", "URL", at(&ServerConfig::db), check_db);
  setting.show = [](const ServerConfig& config) { return without_password(config.db); };
  return setting;
}

Setting admin_key_setting() {
  Setting setting =
      text(named("admin_key"), "The admin key to begin with", "KEY", at(&ServerConfig::admin_key), check_admin_key);
  setting.is_secret = true;
  setting.show = [](const ServerConfig& config) -> std::optional<std::string> {
    if (!config.admin_key) return std::nullopt;
    return "(set)";
  };
  return setting;
}

constexpr std::array kLogLevels{std::pair<std::string_view, LogLevel>{"debug", LogLevel::debug},
                                std::pair<std::string_view, LogLevel>{"info", LogLevel::info},
                                std::pair<std::string_view, LogLevel>{"warn", LogLevel::warn},
                                std::pair<std::string_view, LogLevel>{"error", LogLevel::error}};
constexpr std::array kLogFormats{std::pair<std::string_view, LogFormat>{"auto", LogFormat::automatic},
                                 std::pair<std::string_view, LogFormat>{"json", LogFormat::json},
                                 std::pair<std::string_view, LogFormat>{"text", LogFormat::text}};

void add_server(std::vector<Setting>& out) {
  out.push_back(db_setting());
  out.push_back(listen_setting());
  out.push_back(boolean(named("behind_proxy", {.flag = "--behind-proxy"}),
                        "A proxy in front does TLS; needed to listen beyond this machine",
                        at(&ServerConfig::behind_proxy)));
  const auto any = [](const std::string& /*text*/) -> Result<void> { return {}; };
  out.push_back(text(named("event_log", {.flag = "--event-log"}), "Write each event to it as a JSON line", "FILE",
                     at(&ServerConfig::event_log), any));
  out.push_back(clock_setting());
  out.push_back(admin_key_setting());
  out.push_back(choice(named("log.level", {.flag = "--log-level"}), "The least that is logged", kLogLevels,
                       &ServerConfig::log_level));
  out.push_back(choice(named("log.format", {.flag = "--log-format"}), "How it is logged", kLogFormats,
                       &ServerConfig::log_format));
}

void add_engine(std::vector<Setting>& out) {
  out.push_back(count({named("max_concurrency", {.flag = "--max-concurrency"})},
                      "Jobs that run at once on this node (default: as many as there are cores)",
                      {.min = 1, .max = kNodeConcurrencyMax}, at(&ServerConfig::max_concurrency)));
  out.push_back(span({named("tick_ms", {.flag = "--tick-ms"}), named("check_interval_seconds", {.scale = 1000}),
                      named("scheduler.tick_minutes", {.also = "SCHEDULER_TICK_MINUTES", .scale = 60'000}),
                      named("worker.poll_ms", {.also = "WORKER_POLL_MS"})},
                     "The longest that the engine sleeps, in milliseconds", {.min = 1, .max = kHourMs},
                     at(&ServerConfig::tick)));
  out.push_back(span({named("job_timeout_ms", {.flag = "--job-timeout-ms"})},
                     "How long an attempt may take that says nothing about it, in milliseconds",
                     {.min = 1, .max = kWeekMs}, at(&ServerConfig::job_timeout)));
  out.push_back(duration(named("drain", {.flag = "--drain"}), "How long running attempts may take at the end",
                         {.min = 0s, .max = 1h}, at(&ServerConfig::drain)));
  out.push_back(duration(named("retention", {.flag = "--retention"}), "How long finished jobs are kept",
                         {.min = kRetentionMin, .max = kDurationMax}, at(&ServerConfig::retention)));
  out.push_back(boolean(named("enabled"), "Whether jobs are started", at(&ServerConfig::enabled)));
  out.push_back(count({named("max_concurrent_jobs")}, "Jobs that run at once over all nodes",
                      {.min = 1, .max = kConcurrencyMax}, at(&ServerConfig::max_concurrent_jobs)));
  out.push_back(
      text(named("timezone"), "The zone of schedules that name none", "ZONE", at(&ServerConfig::timezone), check_zone));
}

void add_defaults(std::vector<Setting>& out) {
  out.push_back(count({named("scheduler.max_backfill_windows", {.also = "SCHEDULER_MAX_BACKFILL_WINDOWS"})},
                      "Windows of a subject that may be open at once", {.min = 1, .max = kMaxBackfillMax},
                      inside(&ServerConfig::scheduler, &SchedulerDefaults::max_backfill_windows)));
  out.push_back(span({named("scheduler.min_window_seconds", {.also = "SCHEDULER_MIN_WINDOW_SECONDS"})},
                     "The shortest window, in seconds", {.min = 1, .max = 86'400},
                     inside(&ServerConfig::scheduler, &SchedulerDefaults::min_window), 1s));
  out.push_back(count({named("worker.batch", {.also = "WORKER_BATCH"})}, "Jobs claimed at once",
                      {.min = 1, .max = 1000}, inside(&ServerConfig::worker, &WorkerDefaults::batch)));
  out.push_back(span({named("worker.lease_ms", {.also = "WORKER_LEASE_MS"})}, "How long a lease lasts, in milliseconds",
                     {.min = 1000, .max = 24 * kHourMs}, inside(&ServerConfig::worker, &WorkerDefaults::lease)));
  out.push_back(
      count({named("worker.max_attempts", {.also = "WORKER_MAX_ATTEMPTS"}), named("default_retry_max_attempts")},
            "Attempts of a job that says nothing about it", {.min = 1, .max = kMaxAttemptsMax},
            inside(&ServerConfig::worker, &WorkerDefaults::max_attempts)));
  out.push_back(span({named("default_retry_backoff_seconds")},
                     "The first wait between attempts of a job that says nothing about it, in seconds",
                     {.min = 1, .max = 86'400}, inside(&ServerConfig::worker, &WorkerDefaults::retry_backoff), 1s));
}

void add_http(std::vector<Setting>& out) {
  const auto http = [](auto member) { return inside(&ServerConfig::http, member); };
  out.push_back(count({named("http.budget_mb")}, "Bodies and answers under way, in MiB", {.min = 128, .max = 1'048'576},
                      http(&HttpBounds::budget_mb)));
  out.push_back(count({named("http.connections")}, "Connections at once", {.min = 10, .max = 1'000'000},
                      http(&HttpBounds::connections)));
  out.push_back(count({named("http.connections_each")}, "Connections at once from one address, and of one key",
                      {.min = 10, .max = 1'000'000}, http(&HttpBounds::connections_each)));
  out.push_back(count({named("http.calls_each")}, "Calls of one key under way", {.min = 10, .max = 1'000'000},
                      http(&HttpBounds::calls_each)));
}

void add_slo(std::vector<Setting>& out) {
  const auto slo = [](auto member) { return inside(&ServerConfig::slo, member); };
  out.push_back(span({named("slo_eval_ms")}, "How often objectives are looked at, in milliseconds",
                     {.min = 100, .max = kHourMs}, slo(&SloConfig::eval)));
  out.push_back(span({named("slo_window_minutes")}, "Over how long, in minutes", {.min = 1, .max = 1440},
                     slo(&SloConfig::window), 1min));
  out.push_back(span({named("tick_budget_ms")}, "p95 of a tick, in milliseconds", {.min = 1, .max = kHourMs},
                     slo(&SloConfig::tick_budget)));
  out.push_back(number("sat_ratio", "Share of samples in which every slot is taken", {.min = 0, .max = 1},
                       slo(&SloConfig::sat_ratio)));
  out.push_back(
      number("depth_avg_max", "Mean depth of the queue", {.min = 0, .max = kDepthMax}, slo(&SloConfig::depth_avg_max)));
  out.push_back(span({named("job_p95_max_ms")}, "p95 of an attempt, in milliseconds", {.min = 1, .max = kWeekMs},
                     slo(&SloConfig::job_p95_max)));
  out.push_back(number("cutoff_rate_max", "Share of deliveries that reach their cutoff", {.min = 0, .max = 1},
                       slo(&SloConfig::cutoff_rate_max)));
  out.push_back(number("dlq_max", "Jobs in the DLQ", {.min = 0, .max = kDepthMax}, slo(&SloConfig::dlq_max)));
  out.push_back(
      number("stalled_max", "Leases lost in the window", {.min = 0, .max = kDepthMax}, slo(&SloConfig::stalled_max)));
  out.push_back(count({named("breach_consecutive")}, "Breaches in a row before a warning", {.min = 1, .max = 1000},
                      slo(&SloConfig::breach_consecutive)));
}

}  // namespace

const std::vector<Setting>& all_settings() {
  static const std::vector<Setting> settings = [] {
    std::vector<Setting> out;
    add_server(out);
    add_engine(out);
    add_defaults(out);
    add_http(out);
    add_slo(out);
    out.push_back(allow_setting());
    out.push_back(text(named("webhooks.ca_file"), "Whose certificates webhooks trust over https", "FILE",
                       at(&ServerConfig::webhooks_ca_file), check_readable));
    return out;
  }();
  return settings;
}

}  // namespace carillon::daemon
