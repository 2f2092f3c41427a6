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
constexpr auto kAcceptPause = std::chrono::milliseconds(100);  // when no file handle is free

bool would_block(const ErrorCodeOf& ec) { return ec == asio::error::would_block || ec == asio::error::try_again; }

// The socket and the clock of a connection.
class Session : public std::enable_shared_from_this<Session> {
 public:
  using OnClosed = std::function<void(Session&)>;

  struct Shared {
    std::span<char> read_buffer;  // one for all: it is empty again before the next one is read
    OnClosed on_closed;
  };

  Session(tcp::socket socket, std::shared_ptr<Connection> connection, Shared& shared)
      : socket_(std::move(socket)),
        timer_(socket_.get_executor()),
        connection_(std::move(connection)),
        shared_(shared) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() = default;

  Connection& connection() { return *connection_; }

  // Does whatever is due after something has happened.
  void proceed() {
    if (is_closed_) return;
    connection_->proceed();
    if (!is_lingering_ && !is_write_awaited_ && !write()) return close();
    if (!is_lingering_ && connection_->is_finished() && !finish()) return close();
    await_input();
    await_deadline();
  }

  void close() {
    if (std::exchange(is_closed_, true)) return;
    connection_->lost();
    timer_.cancel();
    ErrorCodeOf ignored;
    socket_.close(ignored);
    shared_.on_closed(*this);
  }

  // Set while it stands in the list of those that have got mail.
  bool has_mail = false;
  // Set if it was one too many.
  bool is_surplus = false;
  std::string address;  // of the client

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
    is_read_awaited_ = true;
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const ErrorCodeOf& ec) {
      self->is_read_awaited_ = false;
      if (self->is_closed_) return;
      if (ec || !self->read()) return self->close();
      self->proceed();
    });
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
      self->proceed();
    });
  }

  // The timer is set only when it would ring too late; one that rings too early is set again.
  void await_deadline() {
    const Clock::time_point until = is_lingering_ ? linger_until_ : connection_->deadline(Clock::now());
    if (until >= timer_at_) return;
    timer_at_ = until;
    timer_.expires_at(until);
    timer_.async_wait([self = shared_from_this()](const ErrorCodeOf& ec) {
      if (ec || self->is_closed_) return;
      self->timer_at_ = Clock::time_point::max();
      self->check_deadline();
    });
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
  Clock::time_point timer_at_ = Clock::time_point::max();
  Clock::time_point linger_until_;
  std::size_t discarded_ = 0;
  bool is_read_awaited_ = false;
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
                 .mailbox = std::make_shared<Mailbox>([this] { asio::post(io_, [this] { read_mail(); }); })} {
    service_.budget = std::make_shared<Budget>(service_.options.budget);
    shared_.read_buffer = read_buffer_;
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

  void welcome(tcp::socket socket) {
    const HttpOptions& options = service_.options;
    ErrorCodeOf ec;
    const tcp::endpoint peer = socket.remote_endpoint(ec);
    if (ec) return;
    const std::string address = peer.address().to_string();
    std::size_t& from_address = from_[address];
    const bool is_surplus = served_ >= options.connections_max || from_address >= options.connections_each;
    if (is_surplus && sessions_.size() - served_ >= kRefusedMax) return forget_address(address);
    socket.non_blocking(true, ec);
    if (ec) return forget_address(address);
    socket.set_option(tcp::no_delay(true), ec);
    auto connection = std::make_shared<Connection>(service_, address);
    Connection* const key = connection.get();
    auto session = std::make_shared<Session>(std::move(socket), std::move(connection), shared_);
    sessions_.emplace(key, session);
    connections_ = sessions_.size();
    session->is_surplus = is_surplus;
    session->address = address;
    if (is_surplus) {
      const bool is_address = served_ < options.connections_max;
      key->refuse({.status = 503,
                   .code = "too_many_connections",
                   .message = fmt::format("{} connections are open{}, as many as are allowed",
                                          is_address ? options.connections_each : options.connections_max,
                                          is_address ? " from this address" : "")});
    } else {
      ++served_;
      ++from_address;
    }
    session->proceed();
  }

  void forget_address(const std::string& address) {
    if (const auto found = from_.find(address); found != from_.end() && found->second == 0) from_.erase(found);
  }

  void forget(Session& session) {
    if (!session.is_surplus) {
      --served_;
      --from_[session.address];
    }
    forget_address(session.address);
    sessions_.erase(&session.connection());
    connections_ = sessions_.size();
    if (service_.draining && sessions_.empty()) finish();
  }

  void read_mail() {
    std::vector<std::shared_ptr<Session>> touched;
    for (Mail& mail : service_.mailbox->take()) {
      if (const auto session = session_of(mail)) {
        session->connection().handle(std::move(mail));
        if (!std::exchange(session->has_mail, true)) touched.push_back(session);
      }
    }
    for (const auto& session : touched) {
      session->has_mail = false;
      session->proceed();
    }
  }

  // Null if it is closed: then nobody waits for the answer, which is all that some want to hear.
  std::shared_ptr<Session> session_of(Mail& mail) {
    const std::shared_ptr<Connection> connection = mail.to.lock();
    const auto found = connection ? sessions_.find(connection.get()) : sessions_.end();
    if (found != sessions_.end()) return found->second;
    if (const auto* const gone = std::get_if<GoneMail>(&mail.content)) gone->gone();
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
  std::array<char, kReadBytes> read_buffer_{};
  Session::Shared shared_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  tcp::acceptor acceptor_{io_};
  asio::steady_timer accept_timer_{io_};
  asio::steady_timer drain_timer_{io_};
  std::unordered_map<Connection*, std::shared_ptr<Session>> sessions_;
  std::unordered_map<std::string, std::size_t> from_;  // how many are served of each address
  std::size_t served_ = 0;                             // of the sessions, without those that were refused
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
