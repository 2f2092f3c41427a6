#include "daemon/serve.h"

#include <carillon/version.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "daemon/config_address.h"
#include "daemon/rehearsal_mark.h"
#include "daemon/serve_settings.h"
#include "engine/engine_host.h"
#include "engine/open_store.h"
#include "observe/crash_line.h"
#include "observe/event_log.h"
#include "observe/log.h"
#include "observe/log_events.h"
#include "observe/metrics.h"
#include "observe/slo_watcher.h"
#include "observe/tenant_figures.h"
#include "server/api/api.h"
#include "server/api/handler_book.h"
#include "server/api/sign_in_trail.h"
#include "server/handlers/email_handler.h"
#include "server/handlers/exec_handler.h"
#include "server/handlers/webhook_runner.h"
#include "server/http/http_server.h"

namespace carillon::daemon {

namespace {

using namespace carillon::server;

constexpr std::size_t kPoolThreads = 4;
constexpr std::size_t kPoolWaiting = 10'000;
constexpr std::chrono::seconds kKeepAlive(15);
constexpr std::chrono::minutes kLoginLength(10);
constexpr std::size_t kDocumentsPage = 500;
constexpr std::string_view kSqlite = "sqlite:";

// ---- Signals ------------------------------------------------------------------------------------------------------

std::atomic<int> end_fd = -1;

void note_end(int /*signal*/) {
  const int saved = errno;
  eventfd_write(end_fd, 1);
  errno = saved;
}

// SIGTERM and SIGINT, made readable; a second one ends the process at once.
class EndSignals {
 public:
  EndSignals() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    CHECK(fd_ >= 0);
    end_fd = fd_;
    struct sigaction action{};
    action.sa_handler = note_end;
    action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    struct sigaction ignored{};
    ignored.sa_handler = SIG_IGN;  // NOLINT(*-cstyle-cast): the system's own constant
    sigaction(SIGPIPE, &ignored, nullptr);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals() {
    end_fd = -1;
    close(fd_);
  }

  void wait() const {
    pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
    while (poll(&readable, 1, -1) < 1) {
    }
  }

 private:
  const int fd_;
};

// ---- What the store knows -----------------------------------------------------------------------------------------

// Every document of the store, page by page.
Result<void> for_each_document(Store& store, const std::function<Result<void>(const Document&)>& visit) {
  DocumentKey after;
  for (;;) {
    TRY_ASSIGN(const std::vector<Document> page, store.admin().documents_above(after, kDocumentsPage));
    for (const Document& document : page) TRY(visit(document));
    if (page.size() < kDocumentsPage) return {};
    after = page.back().key;
  }
}

// ---- The first key ------------------------------------------------------------------------------------------------

std::filesystem::path key_path(const std::string& db) {
  if (!db.starts_with(kSqlite)) return "carillon.key";
  return std::filesystem::path(db.substr(kSqlite.size())).parent_path() / "carillon.key";
}

// A new database is for its owner alone: payloads stand in it. What cannot be made here is told when it is opened.
void make_private(const std::string& db) {
  constexpr int kOwnerOnly = 0600;
  if (!db.starts_with(kSqlite)) return;
  const std::string path = db.substr(kSqlite.size());
  // NOLINTNEXTLINE(*-vararg): open is what it is
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly);
  if (fd >= 0) close(fd);
}

Result<void> write_key_file(const std::filesystem::path& path, const std::string& text) {
  constexpr int kOwnerOnly = 0600;
  // NOLINTNEXTLINE(*-vararg): open is what it is
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kOwnerOnly);
  const std::string line = text + "\n";
  const bool written = fd >= 0 && fchmod(fd, kOwnerOnly) == 0 &&
                       write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()) && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (written) return {};
  return failed(ErrorCode::unavailable, fmt::format("cannot write the admin key to {}: {}", path.string(),
                                                    std::generic_category().message(error)));
}

// ---- Handlers -----------------------------------------------------------------------------------------------------

Result<Handler> handler_of(const HandlerDefinition& definition) {
  if (const auto* const exec = std::get_if<ExecDefinition>(&definition.work)) {
    ExecConfig config{.argv = exec->argv,
                      .timeout = exec->timeout,
                      .user = exec->user.value_or(""),
                      .cpu_seconds_max = exec->cpu_seconds_max,
                      .open_files_max = exec->open_files_max};
    if (exec->cwd) config.cwd = *exec->cwd;
    if (exec->memory_mb_max) config.memory_bytes_max = *exec->memory_mb_max << 20U;
    return make_exec_handler(std::move(config));
  }
  const auto& email = std::get<EmailDefinition>(definition.work);
  EmailConfig config{.smtp = email.smtp,
                     .user = email.username.value_or(""),
                     .password_file = email.password_file.value_or(""),
                     .from = email.from,
                     .to = email.to,
                     .cc = email.cc.value_or(""),
                     .subject = email.subject,
                     .text = email.text,
                     .html = email.html.value_or("")};
  switch (email.starttls) {
    case StartTls::attempt: config.starttls = EmailConfig::StartTls::attempt; break;
    case StartTls::require: config.starttls = EmailConfig::StartTls::require; break;
    case StartTls::never: config.starttls = EmailConfig::StartTls::never; break;
  }
  if (email.timeout) config.timeout = *email.timeout;
  return make_email_handler(config);
}

// ---- The whole ----------------------------------------------------------------------------------------------------

class Server {
 public:
  struct Parts {
    std::unique_ptr<Store> store;
    std::unique_ptr<RehearsalClock> clock;  // nothing: the machine's
    AddressGuard guard;                     // of webhooks
  };
  Server(const LoadedConfig& loaded, Parts parts, Log& log)
      : config_(loaded.config),
        log_(log),
        clock_(std::move(parts.clock)),
        store_(std::move(parts.store)),
        slo_(config_.slo, store_->jobs().now()),
        figures_(config_.slo),
        rehearsal_(clock_ ? std::make_unique<Rehearsal>(*clock_) : nullptr),
        sender_(std::make_shared<WebhookSender>(WebhookSender::Options{
            .guard = parts.guard, .ca_file = config_.webhooks_ca_file.value_or(""), .resolve = {}})),
        host_(*store_, host_options(loaded)),
        pool_(kPoolThreads, kPoolWaiting),
        services_{.host = host_,
                  .store = *store_,
                  .keys = keys_,
                  .sessions = sessions_,
                  .tenants = tenants_,
                  .events = events_,
                  .pool = pool_,
                  .timers = timers_,
                  .handlers = handlers_,
                  .hooks = hooks_,
                  .guard = std::move(parts.guard),
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
                  .port = [this] { return http_->port(); }} {
    if (log_.wants(LogLevel::debug)) services_.on_request = [this](const AnsweredRequest& one) { log_request(one); };
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() = default;

  Result<void> start() {
    for (const HandlerDefinition& definition : config_.handlers) {
      TRY_ASSIGN(Handler handler, handler_of(definition));
      handlers_.add_own(definition.type, std::visit([](const auto& work) { return work.limits; }, definition.work));
      host_.handle(definition.type, std::move(handler));
    }
    TRY(for_each_document(*store_, [this](const Document& document) { return remember(document); }));
    TRY(make_first_key());
    if (config_.event_log) {
      TRY_ASSIGN(EventLog log, EventLog::open(*config_.event_log));
      event_log_ = std::make_unique<EventLog>(std::move(log));
    }
    host_.on_event([this](const Event& event) {
      metrics_.hear(event);
      const Duration boot = boot_now();
      slo_.hear(event, boot);
      figures_.hear(event, boot);
      log_event(log_, event);
      if (event_log_) event_log_->hear(event);
      events_.hear(event);
    });
    for (const Slo slo : kSlos) metrics_.set_slo(to_string(slo), false);
    host_.start();
    api_ = std::make_unique<Api>(services_);
    http_ = std::make_unique<HttpServer>(
        HttpOptions{.address = config_.listen.address, .port = config_.listen.port},
        [this](HttpRequest request, Reply reply) { api_->dispatch(std::move(request), std::move(reply)); },
        [this](HttpRequest& head, std::size_t& body_max) { return api_->on_head(head, body_max); });
    TRY(http_->start());
    keep_streams_alive();
    watch_objectives();
    LogLine line(LogLevel::info, "started");
    line.text("version", version())
        .text("address", format_listen({.address = config_.listen.address, .port = http_->port()}));
    log_.write(line.text("db", without_password(config_.db)).text("event_log", config_.event_log.value_or("")));
    return {};
  }

  void greet() {
    // With the admin key that was made first: there is one since the start.
    const auto admin = keys_.first_admin(services_.now());
    const std::string login =
        sessions_.make_login(admin ? admin->id : std::string(), Services::real_now(), kLoginLength);
    fmt::print("carillon {} keeps its data in {}\n", version(), without_password(config_.db));
    fmt::print("page  http://{}/#login={}  (signs in once, for 10 minutes)\n",
               format_listen({.address = config_.listen.address, .port = http_->port()}), login);
    if (made_key_) fmt::print("key   {}  (admin; made now)\n", key_path(config_.db).string());
    if (clock_) {
      fmt::print("clock {}, {} times real speed: a rehearsal  (POST /v1/clock moves it)\n",
                 format_instant(services_.now()), clock_->speed());
    }
    std::fflush(stdout);
  }

  void stop() {
    log_.write(LogLine(LogLevel::info, "draining").text("drain", format_duration(config_.drain)));
    events_.close();
    http_->stop(std::chrono::duration_cast<std::chrono::milliseconds>(config_.drain));
    host_.stop();
    timers_.stop();
    pool_.stop();
    LogLine line(LogLevel::info, "stopped");
    log_.write(line.milliseconds("uptime_ms", std::chrono::duration_cast<std::chrono::microseconds>(
                                                  std::chrono::steady_clock::now() - services_.began)));
  }

 private:
  EngineHostOptions host_options(const LoadedConfig& loaded) {
    EngineHostOptions options{.engine = {.max_concurrency = config_.max_concurrency,
                                         .tick = tick(),
                                         .drain = config_.drain,
                                         .retention = config_.retention,
                                         .worker = "server",
                                         .leave_unhandled = true},
                              .clock = clock_.get(),
                              .rehearsal = rehearsal_.get()};
    options.rules = rules_of(loaded);
    if (config_.worker.batch) options.claims_max = *config_.worker.batch;
    options.serves = [this](std::string_view tenant, std::string_view type) { return handlers_.serves(tenant, type); };
    options.limits_of_type = [this](std::string_view tenant, std::string_view type) {
      return handlers_.limits(tenant, type);
    };
    options.make_runner = [this](const std::shared_ptr<ExecutionEnvironment>& environment, std::uint32_t threads) {
      WebhookEnvironment webhooks{.sender = sender_, .port = environment->port, .finished = environment->finished};
      webhooks.target = [this](std::string_view tenant, std::string_view type) -> std::optional<WebhookTarget> {
        const auto config = handlers_.webhook(tenant, type);
        if (!config) return std::nullopt;
        return target_of(*config, store_->jobs().now());
      };
      return std::make_unique<SplitRunner>(std::make_unique<WebhookRunner>(std::move(webhooks)),
                                           std::make_unique<ThreadRunner>(environment, threads),
                                           [this](std::string_view tenant, std::string_view type) {
                                             return !handlers_.is_own(type) && handlers_.serves(tenant, type);
                                           });
    };
    return options;
  }

  // What is looked at once a tick would be late by a tick's real time, which is long in a rehearsal.
  Duration tick() const {
    constexpr Duration kShortest = std::chrono::milliseconds(10);
    if (!clock_ || clock_->speed() <= 1) return config_.tick;
    const auto shorter = static_cast<Duration::rep>(static_cast<double>(config_.tick.count()) / clock_->speed());
    return std::min<Duration>(config_.tick, std::max(kShortest, Duration(shorter)));
  }

  Result<void> remember(const Document& document) {
    const DocumentKey& key = document.key;
    if (!key.tenant.empty()) tenants_.add(key.tenant);
    if (key.kind == kKeyKind) {
      TRY_ASSIGN(ApiKey known, read_key(key.name, document.body));
      for (const std::string& tenant : known.tenants.names()) tenants_.add(tenant);
      keys_.put(std::move(known));
    } else if (key.kind == kHandlerKind) {
      TRY_ASSIGN(WebhookConfig config, read_stored_webhook(document.body));
      handlers_.put(key.tenant, key.name, std::move(config));
    } else if (key.kind == kHookKind) {
      TRY_ASSIGN(HookConfig hook, read_stored_hook(document.body));
      hooks_.put(key.tenant, key.name, std::move(hook));
    }
    return {};
  }

  // The operator's own, or one that is made at the first start.
  Result<void> make_first_key() {
    const Instant now = store_->jobs().now();
    std::optional<NewKey> key;
    if (config_.admin_key) {
      TRY_ASSIGN(key, key_from_text(*config_.admin_key, now));
    } else if (!keys_.has_admin(now)) {
      key = make_key("admin", Scope::admin, now);
      TRY(write_key_file(key_path(config_.db), key->text));
      made_key_ = true;
    }
    if (!key) return {};
    TRY(store_->admin().put_document(
        {.key = {.tenant = {}, .kind = std::string(kKeyKind), .name = key->key.id}, .body = write_key(key->key)},
        AuditWord{.tenant = {}, .actor = "server", .action = "key.make", .target = key->key.id}));
    keys_.put(key->key);
    return {};
  }

  void keep_streams_alive() {
    timers_.after(kKeepAlive, [this] {
      events_.keep_alive();
      write_failed_sign_ins(services_);
      warn_of_lost_events();
      keep_streams_alive();
    });
  }

  void watch_objectives() {
    timers_.after(config_.slo.eval, [this] {
      // It asks the store, and timers must be quick. Too much waits already: all the more reason to look.
      if (!pool_.run([this] { look_at_objectives(); })) look_at_objectives();
    });
  }

  void look_at_objectives() {
    std::optional<std::uint64_t> parked;
    if (const auto count = store_->reader().count_of(JobState::dlq)) {
      parked = static_cast<std::uint64_t>(std::max<std::int64_t>(*count, 0));
    }
    for (const SloTurn& turn : slo_.evaluate({.boot = boot_now(), .now = services_.now(), .parked = parked})) {
      log_.write(turn.line());
      metrics_.set_slo(to_string(turn.slo), turn.standing.breached);
      if (turn.standing.breached) host_.node().announce(turn.event());
    }
    watch_objectives();
  }

  void warn_of_lost_events() {
    if (!event_log_ || event_log_->lost() == told_lost_) return;
    told_lost_ = event_log_->lost();
    LogLine line(LogLevel::warn, "the event log does not take lines");
    log_.write(line.number("lost", static_cast<std::int64_t>(told_lost_)));
  }

  void log_request(const AnsweredRequest& one) {
    LogLine line(LogLevel::debug, "request");
    line.text("method", to_string(one.method)).text("path", one.path).number("status", one.status);
    log_.write(line.milliseconds("duration_ms", one.took));
  }

  const ServerConfig config_;
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
  EventHub events_;
  Metrics metrics_;
  std::unique_ptr<EventLog> event_log_;
  std::uint64_t told_lost_ = 0;  // of its lines
  const std::shared_ptr<WebhookSender> sender_;
  EngineHost host_;
  Timers timers_;
  WorkPool pool_;
  Services services_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpServer> http_;
  bool made_key_ = false;
};

Result<void> run(const LoadedConfig& loaded, const EndSignals& signals, Log& log) {
  for (const std::string& warning : loaded.warnings) log.write({LogLevel::warn, warning});
  TRY_ASSIGN(AddressGuard guard, AddressGuard::allowing(loaded.config.webhooks_allow));
  std::unique_ptr<RehearsalClock> clock;
  if (const auto& given = loaded.config.clock) clock = std::make_unique<RehearsalClock>(given->start, given->speed);
  make_private(loaded.config.db);
  TRY_ASSIGN(std::unique_ptr<Store> store, open_store_with(loaded.config.db, clock ? *clock : system_store_clock()));
  TRY(check_rehearsal(*store, loaded.config.db, clock ? Rehearses::yes : Rehearses::no));
  Server server(loaded, {.store = std::move(store), .clock = std::move(clock), .guard = std::move(guard)}, log);
  TRY(server.start());
  server.greet();
  signals.wait();
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
  const EndSignals signals;
  Log log({.level = loaded->config.log_level, .format = loaded->config.log_format});
  tell_of_crashes(STDERR_FILENO, log.is_json());
  const auto ran = run(*loaded, signals, log);
  if (ran) return EXIT_SUCCESS;
  LogLine failure(LogLevel::error, ran.error().message);
  log.write(failure.text("err_code", to_string(ran.error().code)));
  return EXIT_FAILURE;
}

}  // namespace carillon::daemon
