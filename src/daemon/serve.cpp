#include "daemon/serve.h"

#include <carillon/version.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <carillon/event_log.h>
#include <carillon/log.h>
#include <carillon/metrics.h>
#include <carillon/slo.h>
#include "base/clock.h"
#include "base/hole.h"
#include "base/replaceable.h"
#include "config/values.h"
#include "daemon/config_address.h"
#include "daemon/data_files.h"
#include "daemon/first_key.h"
#include "daemon/key_file.h"
#include "daemon/memory_return.h"
#include "daemon/open_files.h"
#include "daemon/own_handlers.h"
#include "daemon/rehearsal_mark.h"
#include "daemon/reload.h"
#include "daemon/remembering.h"
#include "daemon/serve_settings.h"
#include "daemon/signals.h"
#include "engine/host/engine_host.h"
#include "engine/host/open_store.h"
#include "observe/crash_line.h"
#include "observe/tenant_figures.h"
#include "server/api/api.h"
#include "server/api/handler_book.h"
#include "server/api/quota_use.h"
#include "server/api/sign_in_trail.h"
#include "server/handlers/webhook_runner.h"
#include "server/http/http_server.h"

namespace carillon::daemon {

namespace {

using namespace carillon::server;

constexpr std::chrono::seconds kMemoryLook(1);
// One key leaves a thread to the others. Bodies are read by one thread a key, calls without a key by few: else one who
// sends as fast as he can would take every core.
constexpr WorkPool::Options kPool{
    .threads = 4, .running_each = 3, .waiting_max = 10'000, .waiting_each = 5'000, .name = "api"};
constexpr WorkPool::Options kBodyPool{
    .threads = 2, .running_each = 1, .waiting_max = 10'000, .waiting_each = 5'000, .name = "api-body"};
constexpr WorkPool::Options kLargePool{
    .threads = 2, .running_each = 1, .waiting_max = 1'000, .waiting_each = 500, .name = "api-large"};
constexpr WorkPool::Options kOpenPool{
    .threads = 1, .running_each = 1, .waiting_max = 64, .waiting_each = 16, .name = "api-open"};
constexpr WorkPool::Options kHookPool{
    .threads = 2, .running_each = 2, .waiting_max = 1'000, .waiting_each = 500, .name = "api-hooks"};
constexpr std::chrono::seconds kKeepAlive(15);
constexpr std::chrono::seconds kCountQuotas(1);
constexpr std::chrono::minutes kLoginLength(10);

class Server {
 public:
  struct Parts {
    std::unique_ptr<Store> store;
    std::unique_ptr<RehearsalClock> clock;  // nothing: the machine's
    AddressGuard guard;                     // of webhooks
  };
  Server(const LoadedConfig& loaded, Parts parts, Log& log)
      : loaded_(loaded),
        log_(log),
        clock_(std::move(parts.clock)),
        store_(std::move(parts.store)),
        slo_(config_.slo, clock_ ? clock_->wall() : system_store_clock().wall()),
        figures_(config_.slo),
        rehearsal_(clock_ ? std::make_unique<Rehearsal>(*clock_) : nullptr),
        sender_(std::make_shared<WebhookSender>(WebhookSender::Options{
            .guard = parts.guard,
            .ca_file = config_.webhooks_ca_file.value_or(""),
            .on_blocked = [this](const std::string& host, const std::string& where) { log_blocked(host, where); },
            .resolve = {}})),
        guard_(std::move(parts.guard)),
        host_(*store_, host_options(loaded)),
        services_{.host = host_,
                  .keys = keys_,
                  .sessions = sessions_,
                  .tenants = tenants_,
                  .events = events_,
                  .pool = pool_,
                  .body_pool = body_pool_,
                  .large_pool = large_pool_,
                  .open_pool = open_pool_,
                  .hook_pool = hook_pool_,
                  .timers = timers_,
                  .handlers = handlers_,
                  .hooks = hooks_,
                  .quotas = quotas_,
                  .guard = guard_,
                  .pins = config_pins(loaded),
                  .metrics = [this] { return metrics_.text(); },
                  .slo = [this] { return slo_.json(); },
                  .slo_of =
                      [this](const std::vector<std::string>& tenants, std::optional<std::uint64_t> parked) {
                        return figures_.slo_json(tenants,
                                                 {.boot = boot_now(), .now = services_.now(), .parked = parked});
                      },
                  .totals_of = [this](const std::vector<std::string>& tenants) { return figures_.totals(tenants); },
                  .rehearsal = rehearsal_.get(),
                  .store_kind = config_.db.substr(0, config_.db.find(':')),
                  .behind_proxy = config_.behind_proxy,
                  .port = [this] { return http_->port(); },
                  .on_request = [this](const AnsweredRequest& one) { log_request(one); },
                  .wants_requests = [this] { return log_.wants(LogLevel::debug); }} {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() = default;

  // Whatever can fail comes before the first key is made, and that before anything runs.
  Result<void> start() {
    TRY_ASSIGN(MadeHandlers made, make_handlers(config_));
    use_handlers(config_, std::move(made));
    TRY(remember_documents(
        host_.queries(),
        {.keys = keys_, .tenants = tenants_, .handlers = handlers_, .hooks = hooks_, .quotas = quotas_}));
    if (config_.event_log) {
      TRY_ASSIGN(EventLog log, EventLog::open(*config_.event_log));
      event_log_ = std::make_unique<EventLog>(std::move(log));
    }
    api_ = std::make_unique<Api>(services_);
    const std::uint32_t connections = room_for_connections();
    const std::uint32_t each = connections_of_one(connections);
    http_ = std::make_unique<HttpServer>(
        HttpOptions{.address = config_.listen.address,
                    .port = config_.listen.port,
                    .connections_max = connections,
                    .connections_each = each,
                    .budget = {.bytes = std::size_t{config_.http.budget_mb} << 20U,
                               .calls_each = config_.http.calls_each,
                               .connections_each = each}},
        [this](HttpRequest request, Reply reply) { api_->dispatch(std::move(request), std::move(reply)); },
        [this](HttpRequest& head, std::size_t& body_max) { return api_->on_head(head, body_max); });
    TRY(http_->listen());
    TRY_ASSIGN(made_key_, make_first_key(host_, keys_, config_));
    host_.on_event([this](const Event& event) {
      metrics_.hear(event);
      const Duration boot = boot_now();
      slo_.hear(event, boot);
      figures_.hear(event, boot);
      log_event(log_, event);
      if (event_log_) event_log_->hear(event);
      events_.hear(event);
    });
    host_.start();
    TRY(http_->start());
    keep_streams_alive();
    give_memory_back(kMemoryLook);
    watch_objectives();
    watch_quotas();
    LogLine line(LogLevel::info, "started");
    line.text("version", version())
        .text("address", format_listen({.address = config_.listen.address, .port = http_->port()}));
    log_.write(line.text("db", carillon::config::without_password(config_.db))
                   .text("event_log", config_.event_log.value_or("")));
    return {};
  }

  void greet() {
    const std::string page =
        fmt::format("http://{}/", format_listen({.address = config_.listen.address, .port = http_->port()}));
    fmt::print("carillon {} keeps its data in {}\n", version(), carillon::config::without_password(config_.db));
    // What is not a terminal is kept and read by others.
    if (isatty(STDOUT_FILENO) == 1) {
      // With the admin key that was made first: there is one since the start.
      const auto admin = keys_.first_admin(services_.now());
      fmt::print("page  {}#login={}  (signs in once, for 10 minutes; `carillon login` prints another)\n", page,
                 sessions_.make_login(admin ? admin->id : std::string(), Services::real_now(), kLoginLength));
    } else {
      fmt::print("page  {}  (`carillon login` prints a link that signs in)\n", page);
    }
    if (made_key_) fmt::print("key   {}  (admin; made now)\n", key_path(config_.db).string());
    if (clock_) {
      fmt::print("clock {}, {} times real speed: a rehearsal  (POST /v1/clock moves it)\n",
                 format_instant(services_.now()), clock_->speed());
    }
    std::fflush(stdout);
  }

  // A broken file changes nothing.
  void reload(const ServeFlags& flags) {
    if (event_log_) {
      if (const auto opened = event_log_->reopen(); !opened) {
        log_.write(LogLine(LogLevel::error, opened.error().message));
      }
    }
    if (const auto done = take_over(flags); !done) {
      LogLine failure(LogLevel::error, "the configuration was not reloaded: " + done.error().message);
      log_.write(failure.text("err_code", to_string(done.error().code)));
    }
  }

  void stop() {
    log_.write(LogLine(LogLevel::info, "draining").text("drain", format_duration(config_.drain)));
    events_.close();
    http_->stop(std::chrono::duration_cast<std::chrono::milliseconds>(config_.drain));
    host_.stop();
    events_.stop();
    timers_.stop();
    for (WorkPool* const pool : {&pool_, &body_pool_, &large_pool_, &open_pool_, &hook_pool_}) pool->stop();
    // A store in memory is gone now, and its key opens nothing.
    if (made_key_ && config_.db == "memory:") unlink(key_path(config_.db).c_str());
    LogLine line(LogLevel::info, "stopped");
    log_.write(line.milliseconds("uptime_ms", std::chrono::duration_cast<std::chrono::microseconds>(
                                                  std::chrono::steady_clock::now() - services_.began)));
  }

 private:
  using MadeHandlers = std::map<std::string, Handler>;

  static Result<MadeHandlers> make_handlers(const ServerConfig& config) {
    MadeHandlers made;
    for (const HandlerDefinition& definition : config.handlers) {
      TRY_ASSIGN(made[definition.type], handler_of(definition));
    }
    return made;
  }

  // A handler that is gone from the file stays for the attempts that were claimed for it; nothing new comes to it.
  void use_handlers(const ServerConfig& config, MadeHandlers made) {
    HandlerBook::OwnHandlers own;
    for (const HandlerDefinition& definition : config.handlers)
      own[definition.type] = {
          .tenants = definition.tenants.empty() ? TenantSet::all() : TenantSet::of(definition.tenants),
          .limits = limits_of(definition)};
    for (auto& [type, handler] : made) host_.handle(type, std::move(handler));
    handlers_.set_own(std::move(own));
  }

  Result<void> take_over(const ServeFlags& flags) {
    TRY_ASSIGN(const LoadedConfig fresh, load_config(flags, environment_of_process()));
    TRY_ASSIGN(MadeHandlers made, make_handlers(fresh.config));
    TRY_ASSIGN(AddressGuard guard, AddressGuard::allowing(fresh.config.webhooks_allow));
    const std::vector<ConfigChange> changes = changes_between(loaded_, fresh);
    for (const std::string& warning : fresh.warnings) log_.write({LogLevel::warn, warning});
    for (const ConfigChange& change : changes) log_.write(change.line());
    LogLine line(LogLevel::info, "the configuration was reloaded");
    line.text("file", fresh.file.value_or("")).number("changes", std::ssize(changes));
    log_.write(line);
    loaded_ = reloaded(std::move(loaded_), fresh);
    log_.set_level(config_.log_level);
    sender_->set_guard(guard);
    guard_.set(std::move(guard));
    slo_.set_thresholds(config_.slo);
    figures_.set_thresholds(config_.slo);
    slo_eval_ = config_.slo.eval;
    use_handlers(config_, std::move(made));
    return services_.serving_changed("");
  }

  EngineHostOptions host_options(const LoadedConfig& loaded) {
    EngineHostOptions options{
        .engine = engine_options_of(loaded), .clock = clock_.get(), .rehearsal = rehearsal_.get()};
    options.engine.tick = tick();
    options.engine.worker = "server";
    options.engine.leave_unhandled = true;
    options.limits_must_exist = true;
    options.serves = [this](std::string_view tenant, std::string_view type) { return handlers_.serves(tenant, type); };
    options.limits_of_type = [this](std::string_view tenant, std::string_view type) {
      return handlers_.limits(tenant, type);
    };
    options.tenant_erased = [this](const std::string& tenant) {
      handlers_.remove_all(tenant);
      hooks_.remove_all(tenant);
      quotas_.remove(tenant);
      figures_.forget(tenant);
      tenants_.deleted(tenant);
    };
    options.job_room = {
        .left = [this](const std::string& tenant) { return quotas_.room_for_jobs(tenant); },
        .made = [this](const std::string& tenant,
                       std::size_t count) { quotas_.made_jobs(tenant, static_cast<std::int64_t>(count)); }};
    const auto is_webhook = [this](std::string_view tenant, std::string_view type) {
      return !handlers_.is_own(tenant, type) && handlers_.serves(tenant, type);
    };
    if (!reopened(Hole::breaker_of_all_tenants)) options.waits_outside = is_webhook;
    options.make_runner = [this, is_webhook](const std::shared_ptr<ExecutionEnvironment>& environment,
                                             std::uint32_t threads) {
      WebhookEnvironment webhooks{
          .sender = sender_, .port = environment->port, .finished = environment->finished, .slots = environment->slots};
      webhooks.target = [this](std::string_view tenant, std::string_view type) -> std::optional<WebhookTarget> {
        const auto config = handlers_.webhook(tenant, type);
        if (!config) return std::nullopt;
        return target_of(*config, host_.queries().now());
      };
      return std::make_unique<SplitRunner>(std::make_unique<WebhookRunner>(std::move(webhooks)),
                                           std::make_unique<ThreadRunner>(environment, threads), is_webhook);
    };
    return options;
  }

  // What is looked at once per tick would be late by a tick's real time, which is long in a rehearsal.
  Duration tick() const {
    constexpr Duration kShortest = std::chrono::milliseconds(10);
    if (!clock_ || clock_->speed() <= 1) return config_.tick;
    const auto shorter = static_cast<Duration::rep>(static_cast<double>(config_.tick.count()) / clock_->speed());
    return std::min<Duration>(config_.tick, std::max(kShortest, Duration(shorter)));
  }

  void keep_streams_alive() {
    timers_.after(kKeepAlive, [this] {
      events_.keep_alive();
      write_failed_sign_ins(services_);
      warn_of_lost_events();
      keep_streams_alive();
    });
  }

  // Without a file left nobody is heard, and no program is started: connections stop before that.
  std::uint32_t room_for_connections() {
    const std::uint64_t files = raise_open_files();
    const std::uint32_t connections = connections_within(files, config_.http.connections);
    if (connections < config_.http.connections) {
      LogLine line(LogLevel::warn, "fewer connections than http.connections: few files may be open (ulimit -n)");
      log_.write(line.number("connections", connections).number("open_files", static_cast<std::int64_t>(files)));
    }
    return connections;
  }

  // The same part of those there are.
  std::uint32_t connections_of_one(std::uint32_t connections) const {
    const std::uint64_t part = std::uint64_t{config_.http.connections_each} * connections / config_.http.connections;
    return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(part));
  }

  void give_memory_back(std::chrono::milliseconds next) {
    timers_.after(next, [this] {
      // It takes the allocator's locks, and timers must be quick.
      if (!pool_.run([this] { give_memory_back(give_kept_memory_back()); })) give_memory_back(kMemoryLook);
    });
  }

  void watch_objectives() {
    timers_.after(slo_eval_.load(), [this] {
      // It asks the store, and timers must be quick. Too much waits already: all the more reason to look.
      if (!pool_.run([this] { look_at_objectives(); })) look_at_objectives();
    });
  }

  void watch_quotas() {
    timers_.after(kCountQuotas, [this] {
      if (!pool_.run([this] { count_tenants(services_); })) log_.write(LogLine(LogLevel::debug, "quotas not counted"));
      watch_quotas();
    });
  }

  void look_at_objectives() {
    std::optional<std::uint64_t> parked;
    if (const auto count = host_.queries().count_of(JobState::dlq)) {
      parked = static_cast<std::uint64_t>(std::max<std::int64_t>(*count, 0));
    }
    for (const SloTurn& turn : slo_.evaluate({.boot = boot_now(), .now = services_.now(), .parked = parked})) {
      log_.write(turn.line());
      metrics_.hear(turn);
      if (turn.standing.breached) host_.announce(turn.event());
    }
    watch_objectives();
  }

  void warn_of_lost_events() {
    if (!event_log_ || event_log_->lost() == told_lost_) return;
    told_lost_ = event_log_->lost();
    LogLine line(LogLevel::warn, "the event log does not take lines");
    log_.write(line.number("lost", static_cast<std::int64_t>(told_lost_)));
  }

  void log_blocked(const std::string& host, const std::string& where) {
    LogLine line(LogLevel::debug, "a webhook was not let through");
    log_.write(line.text("host", host).text("address", where));
  }

  void log_request(const AnsweredRequest& one) {
    LogLine line(LogLevel::debug, "request");
    line.text("method", to_string(one.method)).text("path", one.path).number("status", one.status);
    log_.write(line.milliseconds("duration_ms", one.took));
  }

  LoadedConfig loaded_;  // after the start only the thread that reloads looks at it
  const ServerConfig& config_ = loaded_.config;
  std::atomic<Duration> slo_eval_ = config_.slo.eval;
  Log& log_;
  const std::unique_ptr<RehearsalClock> clock_;
  const std::unique_ptr<Store> store_;
  SloWatcher slo_;
  TenantFigures figures_;
  const std::unique_ptr<Rehearsal> rehearsal_;
  KeyRing keys_;
  Sessions sessions_;
  Tenants tenants_;
  HandlerBook handlers_;
  TenantBook<HookConfig> hooks_;
  QuotaBook quotas_;
  EventHub events_;
  Metrics metrics_;
  std::unique_ptr<EventLog> event_log_;
  std::uint64_t told_lost_ = 0;  // of its lines
  const std::shared_ptr<WebhookSender> sender_;
  Replaceable<AddressGuard> guard_;
  EngineHost host_;
  Timers timers_;
  WorkPool pool_{kPool};
  WorkPool body_pool_{kBodyPool};
  WorkPool large_pool_{kLargePool};
  WorkPool open_pool_{kOpenPool};
  WorkPool hook_pool_{kHookPool};
  Services services_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpServer> http_;
  bool made_key_ = false;
};

Result<void> run(const ServeFlags& flags, const LoadedConfig& loaded, const Signals& signals, Log& log) {
  for (const std::string& warning : loaded.warnings) log.write({LogLevel::warn, warning});
  TRY_ASSIGN(AddressGuard guard, AddressGuard::allowing(loaded.config.webhooks_allow));
  std::unique_ptr<RehearsalClock> clock;
  if (const auto& given = loaded.config.clock) clock = std::make_unique<RehearsalClock>(given->start, given->speed);
  TRY(check_data_files(loaded.config));
  make_database_private(loaded.config.db);
  TRY_ASSIGN(std::unique_ptr<Store> store, open_store_with(loaded.config.db, clock ? *clock : system_store_clock()));
  // Again: what was not there before may have been put there while it was opened.
  TRY(check_database_files(loaded.config.db));
  TRY(check_rehearsal(*store, loaded.config.db, clock ? Rehearses::yes : Rehearses::no));
  Server server(loaded, {.store = std::move(store), .clock = std::move(clock), .guard = std::move(guard)}, log);
  TRY(server.start());
  server.greet();
  while (signals.wait() == Signals::Asked::reload) server.reload(flags);
  server.stop();
  return {};
}

}  // namespace

int serve(const ServeFlags& flags) {
  const auto loaded = load_config(flags, environment_of_process());
  if (!loaded) {
    // Nobody has said how to log.
    fmt::print(stderr, "carillon: {}\n", loaded.error().message);
    return EXIT_FAILURE;
  }
  give_large_blocks_back();
  const Signals signals;
  Log log({.level = loaded->config.log_level, .format = loaded->config.log_format});
  tell_of_crashes(STDERR_FILENO, log.is_json());
  const auto ran = run(flags, *loaded, signals, log);
  if (ran) return EXIT_SUCCESS;
  LogLine failure(LogLevel::error, ran.error().message);
  log.write(failure.text("err_code", to_string(ran.error().code)));
  return EXIT_FAILURE;
}

}  // namespace carillon::daemon
