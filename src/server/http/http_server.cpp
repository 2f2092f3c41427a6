#include "server/http/http_server.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "server/http/connection.h"
#include "server/http/places.h"
#include "server/http/turns.h"

namespace carillon::server {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using ErrorCodeOf = boost::system::error_code;

constexpr std::size_t kReadBytes = std::size_t{64} * 1024;
constexpr std::size_t kPiecesMax = 64;   // written with one call
constexpr std::size_t kRefusedMax = 64;  // connections above the limit that are told so
constexpr std::size_t kLingerBytes = std::size_t{4} * 1024 * 1024;
constexpr auto kLingerTime = std::chrono::seconds(2);
// What refused clients still send is read at this pace, of all of them together: who sends much waits for himself.
constexpr auto kDiscardTime = std::chrono::nanoseconds(15);  // a byte: 64 MiB a second
// Connections taken in before those that are there have a turn, and for how long at most. Somebody who connects as fast
// as he can fills the system's line of newcomers: at one a turn the others would wait behind all of his.
constexpr std::size_t kAcceptedAtOnce = 64;
constexpr auto kAcceptTime = std::chrono::milliseconds(1);
constexpr auto kAcceptPause = std::chrono::milliseconds(100);  // when no file handle is free

bool would_block(const ErrorCodeOf& ec) { return ec == asio::error::would_block || ec == asio::error::try_again; }

// The socket and the clock of a connection.
class Session final : public std::enable_shared_from_this<Session>, public Places::Guest, public Turns::Guest {
 public:
  using OnClosed = std::function<void(Session&)>;

  struct Shared {
    std::span<char> read_buffer;   // one for all: it is empty again before the next one is read
    Clock::time_point discard_at;  // when the next one that was refused may be read
    Turns* turns = nullptr;
    OnClosed on_closed;
  };

  Session(tcp::socket socket, std::shared_ptr<Connection> connection, Shared& shared)
      : socket_(std::move(socket)),
        timer_(socket_.get_executor()),
        connection_(std::move(connection)),
        shared_(shared) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() override = default;

  Connection& connection() { return *connection_; }

  // Not before: who has none was one too many, and is only told so.
  void take_place(Places& places) { place_ = places.seat(*this, connection_->account()); }
  bool may_be_closed() const override { return is_lingering_ || connection_->may_be_closed(Clock::now()); }
  void close_for_newcomer() override {
    const auto self = shared_from_this();
    close();
  }

  // Something has happened: what is due is done when those of its account and of others have had their turns.
  void line_up() {
    if (is_closed_ || std::exchange(is_in_line_, true)) return;
    shared_.turns->add(connection_->account(), shared_from_this());
  }
  void take_turn() override {
    is_in_line_ = false;
    if (is_closed_) return;
    if (std::exchange(is_readable_, false)) {
      is_read_awaited_ = false;
      if (!read()) return close();
    }
    proceed();
  }

  // Does whatever is due after something has happened.
  void proceed() {
    if (is_closed_) return;
    connection_->begin_turn();
    connection_->proceed();
    if (place_.account() != connection_->account().get()) place_.move_to(connection_->account());
    if (!is_lingering_ && !is_write_awaited_ && !write()) return close();
    if (!is_lingering_ && connection_->is_finished() && !finish()) return close();
    if (connection_->wants_turn()) line_up();
    await_input();
    await_deadline();
  }

  void close() {
    if (std::exchange(is_closed_, true)) return;
    place_.give_back();
    connection_->lost();
    timer_.cancel();
    ErrorCodeOf ignored;
    socket_.close(ignored);
    shared_.on_closed(*this);
  }

 private:
  // False if the client is gone.
  bool write() {
    std::array<std::string_view, kPiecesMax> pieces;
    std::array<asio::const_buffer, kPiecesMax> buffers;
    while (!connection_->output().empty()) {
      const std::size_t count = connection_->output().gather(pieces);
      for (std::size_t i = 0; i < count; ++i) buffers[i] = asio::const_buffer(pieces[i].data(), pieces[i].size());
      ErrorCodeOf ec;
      const std::size_t sent = socket_.write_some(std::span(buffers).first(count), ec);
      if (would_block(ec)) {
        await_writable();
        return true;
      }
      if (ec) return false;
      connection_->sent(sent);
      connection_->proceed();
    }
    return true;
  }

  // All is said. False if the socket can be closed at once.
  bool finish() {
    if (!connection_->was_refused() || !connection_->output().empty()) return false;
    ErrorCodeOf ec;
    socket_.shutdown(tcp::socket::shutdown_send, ec);
    if (ec) return false;
    is_lingering_ = true;
    linger_until_ = Clock::now() + kLingerTime;
    return true;
  }

  void await_input() {
    if (is_read_awaited_ || !(is_lingering_ || connection_->wants_input())) return;
    if (is_lingering_ && Clock::now() < discard_at_) return;  // the timer rings then
    is_read_awaited_ = true;
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const ErrorCodeOf& ec) {
      if (self->is_closed_) return;
      if (ec) return self->close();
      self->is_readable_ = true;
      self->line_up();
    });
  }

  // When it may read the next of what it does not want to know. Who has no turn before his time is over takes none.
  void stand_in_line(std::size_t read) {
    discard_at_ = std::max(shared_.discard_at, Clock::now());
    if (discard_at_ < linger_until_) shared_.discard_at = discard_at_ + static_cast<std::int64_t>(read) * kDiscardTime;
  }

  // False if the connection is to be closed.
  bool read() {
    if (!is_lingering_ && !connection_->wants_input()) return true;
    ErrorCodeOf ec;
    const std::size_t size =
        socket_.read_some(asio::mutable_buffer(shared_.read_buffer.data(), shared_.read_buffer.size()), ec);
    if (would_block(ec)) return true;
    if (is_lingering_) {
      discarded_ += size;
      stand_in_line(size);
      return !ec && discarded_ <= kLingerBytes;
    }
    if (ec == asio::error::eof) {
      connection_->input_ended();
      return true;
    }
    if (ec) return false;
    connection_->received({shared_.read_buffer.data(), size});
    return true;
  }

  void await_writable() {
    is_write_awaited_ = true;
    socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const ErrorCodeOf& ec) {
      self->is_write_awaited_ = false;
      if (self->is_closed_) return;
      if (ec) return self->close();
      self->line_up();
    });
  }

  // The timer is set only when it would ring too late; one that rings too early is set again.
  void await_deadline() {
    const Clock::time_point until = is_lingering_ ? linger_deadline() : connection_->deadline(Clock::now());
    if (until >= timer_at_) return;
    timer_at_ = until;
    timer_.expires_at(until);
    timer_.async_wait([self = shared_from_this()](const ErrorCodeOf& ec) {
      if (ec || self->is_closed_) return;
      self->timer_at_ = Clock::time_point::max();
      self->check_deadline();
    });
  }

  Clock::time_point linger_deadline() const {
    return is_read_awaited_ ? linger_until_ : std::min(linger_until_, discard_at_);
  }

  void check_deadline() {
    const Clock::time_point now = Clock::now();
    if (is_lingering_ && linger_until_ <= now) return close();
    if (!is_lingering_ && connection_->deadline(now) <= now) connection_->expired(now);
    proceed();
  }

  tcp::socket socket_;
  asio::steady_timer timer_;
  const std::shared_ptr<Connection> connection_;
  Shared& shared_;
  Places::Place place_;
  Clock::time_point timer_at_ = Clock::time_point::max();
  Clock::time_point linger_until_;
  Clock::time_point discard_at_;
  std::size_t discarded_ = 0;
  bool is_read_awaited_ = false;
  bool is_readable_ = false;  // and not yet read: then nobody waits for it, though is_read_awaited_
  bool is_in_line_ = false;
  bool is_write_awaited_ = false;
  bool is_lingering_ = false;
  bool is_closed_ = false;
};

}  // namespace

class HttpServer::Impl {
 public:
  Impl(HttpOptions options, Dispatch dispatch, OnHead on_head)
      : service_{.options = std::move(options),
                 .dispatch = std::move(dispatch),
                 .on_head = std::move(on_head),
                 .mailbox = std::make_shared<NetMailbox>([this] { asio::post(io_, [this] { read_mail(); }); })} {
    service_.budget = std::make_shared<Budget>(service_.options.budget);
    shared_.read_buffer = read_buffer_;
    shared_.turns = &turns_;
    shared_.on_closed = [this](Session& session) { forget(session); };
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  // NOLINTNEXTLINE(bugprone-exception-escape): without memory to stop with, there is nothing to go on with
  ~Impl() {
    stop(std::chrono::milliseconds(0));
    service_.mailbox->close();
  }

  Result<void> listen() {
    CHECK(!thread_.joinable());
    const HttpOptions& options = service_.options;
    ErrorCodeOf ec;
    const asio::ip::address address = asio::ip::make_address(options.address, ec);
    if (ec) {
      return invalid_configuration(
          fmt::format("cannot listen on {}: expected an IP address such as 127.0.0.1 or ::1", quoted(options.address)));
    }
    const tcp::endpoint endpoint(address, options.port);
    const auto fails = [&](const char* what) {
      return failed(ErrorCode::unavailable,
                    fmt::format("cannot {} {} port {}: {}", what, quoted(options.address), options.port, ec.message()));
    };
    acceptor_.open(endpoint.protocol(), ec);
    if (ec) return fails("open a socket for");
    acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec && address.is_v6()) acceptor_.set_option(asio::ip::v6_only(false), ec);
    if (!ec) acceptor_.bind(endpoint, ec);
    if (!ec) acceptor_.listen(tcp::acceptor::max_listen_connections, ec);
    if (!ec) acceptor_.non_blocking(true, ec);
    if (ec) {
      const auto error = fails("listen on");
      ErrorCodeOf ignored;
      acceptor_.close(ignored);
      return error;
    }
    port_ = acceptor_.local_endpoint(ec).port();
    return {};
  }

  Result<void> start() {
    if (!acceptor_.is_open()) TRY(listen());
    accept();
    thread_ = std::thread([this] {
      pthread_setname_np(pthread_self(), "net");
      service_.mailbox->belongs_to_this_thread();
      io_.run();
    });
    return {};
  }

  void stop(std::chrono::milliseconds drain) {
    const std::scoped_lock lock(stop_mutex_);
    if (!thread_.joinable()) return;
    CHECK(thread_.get_id() != std::this_thread::get_id());
    asio::post(io_, [this, drain] { begin_to_drain(drain); });
    thread_.join();
  }

  std::uint16_t port() const { return port_; }
  std::size_t connections() const { return connections_; }
  UnderWay under_way() const { return {.bytes = service_.budget->bytes(), .peak = service_.budget->take_peak()}; }

 private:
  void accept() {
    acceptor_.async_accept([this](const ErrorCodeOf& ec, tcp::socket socket) {
      if (ec == asio::error::operation_aborted || service_.draining) return;
      if (!ec) {
        welcome(std::move(socket));
        accept_more();
      } else if (ec != asio::error::connection_aborted) {
        // Trying again at once would only fail again.
        accept_timer_.expires_after(kAcceptPause);
        accept_timer_.async_wait([this](const ErrorCodeOf& cancelled) {
          if (!cancelled && !service_.draining) accept();
        });
        return;
      }
      accept();
    });
  }

  // Those who wait already. Whatever fails is met again by the next `accept`.
  void accept_more() {
    const Clock::time_point until = Clock::now() + kAcceptTime;
    for (std::size_t i = 1; i < kAcceptedAtOnce && Clock::now() < until; ++i) {
      ErrorCodeOf ec;
      tcp::socket socket = acceptor_.accept(ec);
      if (ec) return;
      welcome(std::move(socket));
    }
  }

  void welcome(tcp::socket socket) {
    const HttpOptions& options = service_.options;
    ErrorCodeOf ec;
    const tcp::endpoint peer = socket.remote_endpoint(ec);
    if (ec) return;
    auto connection = std::make_shared<Connection>(service_, peer.address().to_string());
    const Places::Lack lack = places_.make_room(*connection->account());
    const bool is_surplus = lack != Places::Lack::nothing;
    if (is_surplus && sessions_.size() - places_.taken() >= kRefusedMax) return;
    socket.non_blocking(true, ec);
    if (ec) return;
    socket.set_option(tcp::no_delay(true), ec);
    Connection* const key = connection.get();
    auto session = std::make_shared<Session>(std::move(socket), std::move(connection), shared_);
    sessions_.emplace(key, session);
    connections_ = sessions_.size();
    if (is_surplus) {
      const bool is_address = lack == Places::Lack::of_address;
      key->refuse({.status = 503,
                   .code = "too_many_connections",
                   .message = fmt::format("{} connections are open{}, as many as are allowed",
                                          is_address ? options.connections_each : options.connections_max,
                                          is_address ? " without a key from this address" : "")});
    } else {
      session->take_place(places_);
    }
    session->proceed();
  }

  void forget(Session& session) {
    sessions_.erase(&session.connection());
    connections_ = sessions_.size();
    if (service_.draining && sessions_.empty()) finish();
  }

  void read_mail() {
    for (Mail& mail : service_.mailbox->take()) {
      if (const auto session = session_of(mail)) {
        session->connection().handle(std::move(mail));
        session->line_up();
      }
    }
  }

  // Null if it is closed.
  std::shared_ptr<Session> session_of(Mail& mail) {
    const std::shared_ptr<Connection> connection = mail.to.lock();
    const auto found = connection ? sessions_.find(connection.get()) : sessions_.end();
    if (found != sessions_.end()) return found->second;
    let_go(mail);
    return nullptr;
  }

  std::vector<std::shared_ptr<Session>> all_sessions() const {
    std::vector<std::shared_ptr<Session>> all;
    all.reserve(sessions_.size());
    for (const auto& [connection, session] : sessions_) all.push_back(session);
    return all;
  }

  void begin_to_drain(std::chrono::milliseconds drain) {
    service_.draining = true;
    ErrorCodeOf ignored;
    acceptor_.close(ignored);
    accept_timer_.cancel();
    if (sessions_.empty()) return finish();
    drain_timer_.expires_after(drain);
    drain_timer_.async_wait([this](const ErrorCodeOf& cancelled) {
      if (cancelled) return;
      for (const auto& session : all_sessions()) session->close();
    });
    for (const auto& session : all_sessions()) {
      session->connection().drain();
      session->proceed();
    }
  }

  void finish() {
    drain_timer_.cancel();
    for (Mail& mail : service_.mailbox->close()) session_of(mail);
    io_.stop();
  }

  Service service_;
  Places places_{
      Places::Limits{.all = service_.options.connections_max, .of_address = service_.options.connections_each}};
  std::array<char, kReadBytes> read_buffer_{};
  Session::Shared shared_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  tcp::acceptor acceptor_{io_};
  asio::steady_timer accept_timer_{io_};
  asio::steady_timer drain_timer_{io_};
  std::unordered_map<Connection*, std::shared_ptr<Session>> sessions_;
  Turns turns_{[this] { asio::post(io_, [this] { turns_.run(); }); }};
  std::atomic<std::size_t> connections_ = 0;
  std::uint16_t port_ = 0;

  std::mutex stop_mutex_;
  std::thread thread_;
};

HttpServer::HttpServer(HttpOptions options, Dispatch dispatch, OnHead on_head)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(dispatch), std::move(on_head))) {}
HttpServer::~HttpServer() = default;

Result<void> HttpServer::listen() { return impl_->listen(); }
Result<void> HttpServer::start() { return impl_->start(); }
std::uint16_t HttpServer::port() const { return impl_->port(); }
void HttpServer::stop(std::chrono::milliseconds drain) { impl_->stop(drain); }
std::size_t HttpServer::connections() const { return impl_->connections(); }
HttpServer::UnderWay HttpServer::under_way() const { return impl_->under_way(); }

}  // namespace carillon::server
