#include "server/handlers/webhook_sender.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hole.h"
#include "base/mailbox.h"
#include "carillon/version.h"
#include "net/curl_ready.h"

namespace carillon::server {

namespace {

constexpr std::size_t kHeaderBytesMax = 64 << 10;  // of all headers of an answer
constexpr int kLookMs = 100;                       // how often calls are asked whether to stop
constexpr int kIdleMs = 60'000;
constexpr std::size_t kBreakersMax = 10'000;       // hosts that have not answered
constexpr std::size_t kBreakersOfTenantMax = 500;  // of these
constexpr long kConnectionsMax = 256;              // kept open

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, FreeList>;

void append(List& list, const std::string& text) {
  curl_slist* const longer = curl_slist_append(list.get(), text.c_str());
  CHECK(longer != nullptr);
  [[maybe_unused]] const curl_slist* const same = list.release();
  list.reset(longer);
}

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};

// A host as one tenant knows it.
struct BreakerKey {
  std::string tenant;
  std::string host;  // with its port
};

// One call under way. Only the sender's thread.
struct Transfer {
  WebhookCall call;
  WebhookSender::Done done;
  HttpUrl url;
  std::uint64_t id = 0;
  BreakerKey breaker;
  std::shared_ptr<const AddressGuard> guard;

  std::unique_ptr<CURL, FreeEasy> easy;
  List headers;
  List resolved;

  std::size_t header_bytes = 0;
  bool header_too_long = false;
  bool opened = false;      // at least one address was allowed
  std::string blocked;      // the last one that was not, and why
  std::string retry_after;  // of the last header block
  WebhookAnswer answer;

  bool may_reach(const std::optional<IpAddress>& address, int port) {
    if (!address) {
      blocked = "an address of an unknown kind";
      return false;
    }
    const auto why = guard->refusal({.host = url.host, .address = *address, .port = static_cast<std::uint16_t>(port)});
    if (why) blocked = fmt::format("{} ({})", to_string(*address), *why);
    return !why;
  }
};

bool is_name(std::string_view line, std::string_view lower_name) {
  return line.size() > lower_name.size() && line[lower_name.size()] == ':' &&
         std::ranges::equal(line.substr(0, lower_name.size()), lower_name, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

extern "C" {

static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  transfer.header_bytes += line.size();
  if (transfer.header_bytes > kHeaderBytesMax) {
    transfer.header_too_long = true;
    return 0;
  }
  if (line.starts_with("HTTP/")) transfer.retry_after.clear();
  constexpr std::string_view kRetryAfter = "retry-after";
  if (is_name(line, kRetryAfter)) {
    std::string_view value = line.substr(kRetryAfter.size() + 1);
    while (!value.empty() && (value.back() == '\r' || value.back() == '\n')) value.remove_suffix(1);
    transfer.retry_after = value;
  }
  return line.size();
}

static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  WebhookAnswer& answer = static_cast<Transfer*>(user)->answer;
  const std::string_view piece(data, size * count);
  const std::size_t room = kAnswerBytesMax - answer.body.size();
  answer.body += piece.substr(0, room);
  if (piece.size() <= room) return piece.size();
  answer.body_is_whole = false;
  return 0;
}

// The guard: the address here is the one that is connected to.
static curl_socket_t open_socket(void* user, curlsocktype purpose, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (purpose != CURLSOCKTYPE_IPCXN) return CURL_SOCKET_BAD;
  if (!transfer.may_reach(address_of(address->addr), transfer.url.port)) return CURL_SOCKET_BAD;
  transfer.opened = true;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// The guard for connections that were open already: right before the request is sent.
static int before_request(void* user, char* remote_address, char* /*local_address*/, int remote_port,
                          int /*local_port*/) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.may_reach(parse_address(remote_address), remote_port)) return CURL_PREREQFUNC_OK;
  transfer.opened = false;
  return CURL_PREREQFUNC_ABORT;
}

}  // extern "C"

template <typename T>
void set(const Transfer& transfer, CURLoption option, T value) {
  CHECK(curl_easy_setopt(transfer.easy.get(), option, value) == CURLE_OK);
}

void set_up(Transfer& transfer, const WebhookSender::Options& options) {
  transfer.easy.reset(curl_easy_init());
  CHECK(transfer.easy != nullptr);
  set(transfer, CURLOPT_URL, transfer.call.url.c_str());
  set(transfer, CURLOPT_PROTOCOLS_STR, "http,https");
  set(transfer, CURLOPT_FOLLOWLOCATION, 0L);
  set(transfer, CURLOPT_PROXY, "");
  set(transfer, CURLOPT_NOPROXY, "*");
  set(transfer, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(transfer, CURLOPT_NOSIGNAL, 1L);
  set(transfer, CURLOPT_QUICK_EXIT, 1L);  // a name that is still looked up must not hold the thread
  set(transfer, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(transfer, CURLOPT_USERAGENT, fmt::format("carillon/{}", version()).c_str());
  const auto timeout_ms = std::chrono::ceil<std::chrono::milliseconds>(transfer.call.timeout).count();
  set(transfer, CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(timeout_ms, 1)));
  if (!options.ca_file.empty()) set(transfer, CURLOPT_CAINFO, options.ca_file.c_str());

  set(transfer, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set(transfer, CURLOPT_OPENSOCKETDATA, &transfer);
  set(transfer, CURLOPT_PREREQFUNCTION, &before_request);
  set(transfer, CURLOPT_PREREQDATA, &transfer);
  set(transfer, CURLOPT_HEADERFUNCTION, &on_header);
  set(transfer, CURLOPT_HEADERDATA, &transfer);
  set(transfer, CURLOPT_WRITEFUNCTION, &on_body);
  set(transfer, CURLOPT_WRITEDATA, &transfer);
  set(transfer, CURLOPT_PRIVATE, &transfer);

  append(transfer.headers, "Expect:");
  append(transfer.headers, "Accept: application/json, */*");
  for (const WebhookHeader& header : transfer.call.headers) {
    append(transfer.headers, fmt::format("{}: {}", header.name, header.value));
  }
  set(transfer, CURLOPT_HTTPHEADER, transfer.headers.get());
  set(transfer, CURLOPT_POST, 1L);
  set(transfer, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(transfer.call.body.size()));
  set(transfer, CURLOPT_POSTFIELDS, transfer.call.body.c_str());

  if (options.resolve && !transfer.url.literal) {
    std::string addresses;
    for (const std::string& address : options.resolve(transfer.url.host)) {
      if (!addresses.empty()) addresses += ',';
      addresses += address;
    }
    append(transfer.resolved, fmt::format("-{}:{}", transfer.url.host, transfer.url.port));
    append(transfer.resolved, fmt::format("+{}:{}:{}", transfer.url.host, transfer.url.port, addresses));
    set(transfer, CURLOPT_RESOLVE, transfer.resolved.get());
  }
}

// What a name resolves to here is not told to whoever chose it: he could read the network off it.
std::string blocked_text(const Transfer& transfer) {
  return fmt::format(
      "the webhook's host {} is at an address that may not be reached; the operator may allow it under [webhooks] "
      "allow",
      transfer.url.host);
}

void read_answer(Transfer& transfer, CURLcode code) {
  WebhookAnswer& answer = transfer.answer;
  long status = 0;
  curl_easy_getinfo(transfer.easy.get(), CURLINFO_RESPONSE_CODE, &status);
  char* type = nullptr;
  curl_easy_getinfo(transfer.easy.get(), CURLINFO_CONTENT_TYPE, &type);
  answer.status = static_cast<int>(status);
  answer.content_type = type == nullptr ? "" : type;
  answer.retry_after = transfer.retry_after;
  const std::string host = fmt::format("{}:{}", transfer.url.host, transfer.url.port);
  if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && !answer.body_is_whole)) {
    answer.kind = WebhookAnswer::Kind::answered;
  } else if (!transfer.blocked.empty() && !transfer.opened) {
    answer.kind = WebhookAnswer::Kind::blocked;
    answer.error = blocked_text(transfer);
  } else if (code == CURLE_OPERATION_TIMEDOUT) {
    answer.kind = WebhookAnswer::Kind::timed_out;
    answer.error = fmt::format("no answer from {} within {}", host, format_duration(transfer.call.timeout));
  } else {
    answer.kind = WebhookAnswer::Kind::unreachable;
    const std::string_view why = transfer.header_too_long ? "the headers of its answer are longer than 64 KiB"
                                                          : std::string_view(curl_easy_strerror(code));
    answer.error = fmt::format("cannot call {}: {}", host, why);
  }
}

CURLM* make_multi() {
  prepare_curl();
  CURLM* const multi = curl_multi_init();
  CHECK(multi != nullptr);
  return multi;
}

// Which hosts do not answer. (the rule is in the header)
class Breakers {
 public:
  // How long to leave it alone; nothing: go on, and `report` how it went.
  std::optional<Duration> closed_for(const BreakerKey& key, Duration now) {
    const auto tenant = tenants_.find(key.tenant);
    if (tenant == tenants_.end()) return std::nullopt;
    const auto found = tenant->second.find(key.host);
    if (found == tenant->second.end() || found->second.failures < kBreakerFailures) return std::nullopt;
    Host& state = found->second;
    if (now < state.open_until) return state.open_until - now;
    // Others wait for what this one finds.
    state.open_until = now + kBreakerPause;
    return std::nullopt;
  }
  void report(const BreakerKey& key, WebhookAnswer::Kind kind, Duration now) {
    switch (kind) {
      case WebhookAnswer::Kind::answered: forget(key); return;
      case WebhookAnswer::Kind::timed_out:
      case WebhookAnswer::Kind::unreachable: break;
      case WebhookAnswer::Kind::blocked:
      case WebhookAnswer::Kind::breaker_open:
      case WebhookAnswer::Kind::cancelled: return;
    }
    if (!has_room_for(key, now)) return;
    const auto [host, is_new] = tenants_[key.tenant].try_emplace(key.host);
    if (is_new) ++count_;
    Host& state = host->second;
    if (state.failures < kBreakerFailures) ++state.failures;
    if (state.failures >= kBreakerFailures) state.open_until = now + kBreakerPause;
  }

 private:
  struct Host {
    int failures = 0;  // in a row
    Duration open_until{};
  };
  using Hosts = std::map<std::string, Host>;

  void forget(const BreakerKey& key) {
    const auto tenant = tenants_.find(key.tenant);
    if (tenant == tenants_.end()) return;
    count_ -= tenant->second.erase(key.host);
    if (tenant->second.empty()) tenants_.erase(tenant);
  }
  std::size_t known_of(const BreakerKey& key) const {
    const auto tenant = tenants_.find(key.tenant);
    return tenant == tenants_.end() ? 0 : tenant->second.size();
  }
  bool is_full_for(const BreakerKey& key) const {
    return count_ >= kBreakersMax || known_of(key) >= kBreakersOfTenantMax;
  }
  bool has_room_for(const BreakerKey& key, Duration now) {
    const auto tenant = tenants_.find(key.tenant);
    if (tenant != tenants_.end() && tenant->second.contains(key.host)) return true;
    if (!is_full_for(key)) return true;
    for (auto& [name, hosts] : tenants_) {
      count_ -= std::erase_if(hosts, [&](const auto& entry) { return entry.second.open_until <= now; });
    }
    std::erase_if(tenants_, [](const auto& entry) { return entry.second.empty(); });
    return !is_full_for(key);
  }

  std::map<std::string, Hosts> tenants_;
  std::size_t count_ = 0;  // of hosts
};

}  // namespace

class WebhookSender::Parts {
 public:
  explicit Parts(Options options) : options_(std::move(options)), multi_(make_multi()) {
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kConnectionsMax);
    thread_ = std::thread([this] { work(); });
    pthread_setname_np(thread_.native_handle(), "webhooks");
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() { curl_multi_cleanup(multi_); }

  void stop() {
    stopping_ = true;
    curl_multi_wakeup(multi_);
    thread_.join();
  }

  void post(std::function<void()> task) { tasks_.put(std::move(task)); }

  std::uint64_t next_id() { return ++last_id_; }

  void begin(std::uint64_t id, WebhookCall call, Done done) {
    if (ended_) {
      done({.kind = WebhookAnswer::Kind::cancelled});
      return;
    }
    auto transfer = std::make_unique<Transfer>();
    transfer->call = std::move(call);
    transfer->done = std::move(done);
    transfer->guard = guard_;
    auto url = parse_http_url(transfer->call.url);
    if (!url) {
      transfer->answer.kind = WebhookAnswer::Kind::unreachable;
      transfer->answer.error = url.error().message;
      transfer->done(std::move(transfer->answer));
      return;
    }
    transfer->url = *std::move(url);
    transfer->id = id;
    transfer->breaker = {.tenant = reopened(Hole::breaker_of_all_tenants) ? std::string() : transfer->call.tenant,
                         .host = fmt::format("{}:{}", transfer->url.host, transfer->url.port)};
    // Whatever a resolver would make of it.
    if (transfer->url.literal && !transfer->may_reach(transfer->url.literal, transfer->url.port)) {
      transfer->answer.kind = WebhookAnswer::Kind::blocked;
      transfer->answer.error = blocked_text(*transfer);
      tell_if_blocked(*transfer);
      transfer->done(std::move(transfer->answer));
      return;
    }
    if (const auto wait = breakers_.closed_for(transfer->breaker, boot_now())) {
      transfer->answer.kind = WebhookAnswer::Kind::breaker_open;
      transfer->answer.wait = *wait;
      transfer->done(std::move(transfer->answer));
      return;
    }
    set_up(*transfer, options_);
    CHECK(curl_multi_add_handle(multi_, transfer->easy.get()) == CURLM_OK);
    transfers_[id] = std::move(transfer);
  }

  void set_guard(AddressGuard guard) { guard_ = std::make_shared<const AddressGuard>(std::move(guard)); }

  void cut_off(std::uint64_t id) {
    const auto found = transfers_.find(id);
    if (found == transfers_.end()) return;
    found->second->answer = {.kind = WebhookAnswer::Kind::cancelled};
    finish(found);
  }

 private:
  void tell_if_blocked(const Transfer& transfer) const {
    if (transfer.answer.kind != WebhookAnswer::Kind::blocked || !options_.on_blocked) return;
    options_.on_blocked(transfer.url.host, transfer.blocked);
  }

  using Transfers = std::map<std::uint64_t, std::unique_ptr<Transfer>>;

  void work() {
    while (true) {
      const bool stopping = stopping_;  // before it looks: what was posted until then is done
      const std::vector<std::function<void()>> tasks = tasks_.take();
      for (const auto& task : tasks) task();
      if (stopping && tasks.empty()) break;
      int running = 0;
      CHECK(curl_multi_perform(multi_, &running) == CURLM_OK);
      take_ended();
      stop_asked();
      curl_multi_poll(multi_, nullptr, 0, stopping ? 0 : transfers_.empty() ? kIdleMs : kLookMs, nullptr);
    }
    end_all();
  }

  // Whoever hears that a call was cut off may ask for the next one: that ends in the same way.
  void end_all() {
    ended_ = true;
    std::vector<std::function<void()>> tasks;
    do {
      while (!transfers_.empty()) cut_off(transfers_.begin()->first);
      tasks = tasks_.take();
      for (const auto& task : tasks) task();
    } while (!tasks.empty());
  }

  void take_ended() {
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      Transfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      read_answer(*transfer, code);
      tell_if_blocked(*transfer);
      const auto found = transfers_.find(transfer->id);
      CHECK(found != transfers_.end());
      finish(found);
    }
  }

  void stop_asked() {
    const Duration now = boot_now();
    if (now < look_at_) return;
    look_at_ = now + std::chrono::milliseconds(kLookMs);
    std::vector<std::uint64_t> asked;
    for (const auto& [id, transfer] : transfers_) {
      if (transfer->call.stop && transfer->call.stop()) asked.push_back(id);
    }
    for (const std::uint64_t id : asked) cut_off(id);
  }

  void finish(Transfers::iterator found) {
    const std::unique_ptr<Transfer> transfer = std::move(found->second);
    transfers_.erase(found);
    curl_multi_remove_handle(multi_, transfer->easy.get());
    breakers_.report(transfer->breaker, transfer->answer.kind, boot_now());
    transfer->easy.reset();
    transfer->done(std::move(transfer->answer));
  }

  const Options options_;
  CURLM* const multi_;
  std::atomic<std::uint64_t> last_id_ = 0;

  // Only the thread.
  std::shared_ptr<const AddressGuard> guard_ = std::make_shared<const AddressGuard>(options_.guard);
  Transfers transfers_;
  Breakers breakers_;
  Duration look_at_{};
  bool ended_ = false;

  Mailbox<std::function<void()>> tasks_{[this] { curl_multi_wakeup(multi_); }};
  std::atomic<bool> stopping_ = false;

  std::thread thread_;
};

WebhookSender::WebhookSender(Options options) : parts_(std::make_unique<Parts>(std::move(options))) {}
// Here, and not with the parts: whoever hears of an end may still use the sender.
WebhookSender::~WebhookSender() { parts_->stop(); }

std::uint64_t WebhookSender::send(WebhookCall call, Done done) {
  const std::uint64_t id = parts_->next_id();
  parts_->post([parts = parts_.get(), id, call = std::move(call), done = std::move(done)]() mutable {
    parts->begin(id, std::move(call), std::move(done));
  });
  return id;
}

void WebhookSender::cancel(std::uint64_t id) {
  parts_->post([parts = parts_.get(), id] { parts->cut_off(id); });
}

void WebhookSender::set_guard(AddressGuard guard) {
  parts_->post([parts = parts_.get(), guard = std::move(guard)] { parts->set_guard(guard); });
}

void WebhookSender::post(std::function<void()> task) { parts_->post(std::move(task)); }

}  // namespace carillon::server
