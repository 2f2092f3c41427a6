#include "server/http/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "server/http/reply_sink.h"

namespace carillon::server {

namespace {

// What is read ahead of requests that must wait, so that the end of the connection is noticed.
constexpr std::size_t kReadAheadMax = std::size_t{16} * 1024;
constexpr std::size_t kDiscardMax = std::size_t{256} * 1024;
// A body is there as it came, and once more in the hands of those who read it.
constexpr std::size_t kBodyFactor = 2;
// Requests that one connection hands out before the others have their turn.
constexpr std::size_t kTurnRequests = 4;
// Who has taken no byte of an answer for so long does not read.
constexpr auto kUnreadTime = std::chrono::seconds(1);

// Sets a flag for as long as it lives.
class Busy {
 public:
  explicit Busy(bool& flag) : flag_(flag), before_(std::exchange(flag, true)) {}
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() { flag_ = before_; }

 private:
  bool& flag_;
  const bool before_;
};

}  // namespace

Connection::Connection(Service& service, std::string peer)
    : service_(service),
      peer_(std::move(peer)),
      reader_(service.options.head_max),
      account_(service.budget->account(peer_, AccountOf::address)),
      held_(service.budget, account_),
      counted_(account_, &Account::connections) {}

// ---- What happened ---------------------------------------------------------------------------------------------

void Connection::received(std::string_view bytes) {
  if (input_over_) {
    discarded_ += bytes.size();
    return;
  }
  reader_.append(bytes);
  proceed();
}

void Connection::input_ended() {
  peer_ended_ = true;
  link_->client = ClientState::silent;
  const auto streams = [](const Exchange& exchange) { return exchange.state == Exchange::State::streaming; };
  if (std::ranges::any_of(exchanges_, streams)) aborted_ = true;
  call_gone();
  proceed();
}

void Connection::sent(std::size_t bytes) {
  progressed_ = true;
  link_->unsent -= output_.sent(bytes);
  hold_output();
}

void Connection::handle(Mail mail) {
  Exchange* const exchange = find(mail.number);
  if (exchange != nullptr) {
    std::visit([&](auto& content) { accept(*exchange, std::move(content)); }, mail.content);
  } else if (const auto* const text = std::get_if<TextMail>(&mail.content)) {
    link_->unsent -= text->text.size();
  } else if (const auto* const made = std::get_if<MakeMail>(&mail.content)) {
    made->make();  // for those who count it
  }
}

void Connection::proceed() {
  if (lost_ || aborted_) return;
  const Busy busy(busy_);
  // Answers make room for requests, and some requests are answered at once.
  for (bool moved = true; moved;) {
    moved = read_some();
    if (write_some()) moved = true;
  }
  hold_output();
}

void Connection::begin_turn() { turn_left_ = kTurnRequests; }

void Connection::refuse(const Refusal& refusal) {
  Exchange& exchange = add_exchange();
  exchange.keep_alive = false;
  input_over_ = true;
  refused_ = true;
  owes_continue_ = false;
  body_.reset();
  reader_.drop();
  const bool passes = refusal.status == 429 || refusal.status == 503;
  answer(exchange, passes ? busy_response(refusal.status, refusal.code, refusal.message)
                          : error_response(refusal.status, refusal.code, refusal.message));
}

void Connection::drain() {
  for (Exchange& exchange : exchanges_) {
    if (exchange.state != Exchange::State::streaming) continue;
    exchange.over->store(true);
    exchange.state = Exchange::State::ended;
    if (exchange.gone)
      service_.mailbox->post({.to = {}, .content = GoneMail{.gone = std::exchange(exchange.gone, {})}});
  }
  proceed();
}

void Connection::lost() {
  lost_ = true;
  link_->client = ClientState::gone;
  held_.set(0);
  counted_ = CountHold();
  body_.reset();
  reader_.drop();
  for (const Exchange& exchange : exchanges_) {
    if (exchange.over) exchange.over->store(true);
  }
  const std::vector<std::function<void()>> gone = take_gone();
  exchanges_.clear();
  for (const auto& call : gone) call();
}

void Connection::expired(Time now) {
  const bool in_request = phase_ == Phase::head || phase_ == Phase::body;
  if (write_until_ <= now || !in_request) {
    aborted_ = true;
    return;
  }
  refuse({.status = 408,
          .code = "request_timeout",
          .message = phase_ == Phase::head ? "the head of the request did not come in time"
                                           : "the body of the request did not come in time"});
}

// ---- What is wanted --------------------------------------------------------------------------------------------

bool Connection::wants_input() const {
  if (aborted_ || peer_ended_) return false;
  if (input_over_) return discarded_ < kDiscardMax;
  return may_parse() || reader_.unread() < kReadAheadMax;
}

bool Connection::is_finished() const {
  if (aborted_) return true;
  if (!exchanges_.empty() || !output_.empty()) return false;
  return input_over_ || (service_.draining && reader_.phase() == RequestReader::Phase::between);
}

Connection::Time Connection::deadline(Time now) {
  const HttpOptions& options = service_.options;
  const Phase current = phase();
  const std::uint64_t number = first_ + exchanges_.size();
  if (current != phase_ || number != phase_number_) {
    phase_ = current;
    phase_number_ = number;
    switch (current) {
      case Phase::idle: phase_until_ = now + options.idle_time; break;
      case Phase::head: phase_until_ = now + options.head_time; break;
      case Phase::body: phase_until_ = now + options.body_time; break;
      case Phase::none: phase_until_ = Time::max(); break;
    }
  }
  if (output_.empty()) {
    write_until_ = Time::max();
  } else if (progressed_ || write_until_ == Time::max()) {
    write_until_ = now + options.write_time;
  }
  progressed_ = false;
  return std::min(phase_until_, write_until_);
}

bool Connection::may_be_closed(Time now) const {
  const auto holds = [](const Exchange& exchange) {
    if (exchange.state == Exchange::State::waiting) return !exchange.gone;  // one that is parked can be asked again
    return exchange.state == Exchange::State::streaming;
  };
  if (std::ranges::any_of(exchanges_, holds)) return false;
  if (output_.empty()) return true;
  return !progressed_ && write_until_ != Time::max() && write_until_ - service_.options.write_time + kUnreadTime <= now;
}

Connection::Phase Connection::phase() const {
  if (input_over_ || peer_ended_ || !may_parse()) return Phase::none;
  switch (reader_.phase()) {
    case RequestReader::Phase::between: return exchanges_.empty() && output_.empty() ? Phase::idle : Phase::none;
    case RequestReader::Phase::head: return Phase::head;
    case RequestReader::Phase::body: return Phase::body;
  }
  UNREACHABLE();
}

// ---- Requests --------------------------------------------------------------------------------------------------

bool Connection::may_parse() const {
  if (aborted_ || input_over_ || exchanges_.size() >= service_.options.pipelined_max) return false;
  if (unsent() > service_.options.pipelined_bytes_max) return false;
  // The first has nothing but the end of the connection to mark the end of a stream.
  return exchanges_.empty() || !(exchanges_.back().http_1_0 || service_.draining);
}

// Makes requests of what was received. Whether there were any.
bool Connection::read_some() {
  bool any = false;
  while (may_parse() && turn_left_ > 0) {
    switch (reader_.next()) {
      case RequestReader::Step::need_more:
        if (peer_ended_) input_over_ = true;
        return (reader_.phase() == RequestReader::Phase::body && !hold_body()) || any;
      case RequestReader::Step::head: read_head(); break;
      case RequestReader::Step::request:
        --turn_left_;
        if (hold_body()) dispatch_request();
        break;
      case RequestReader::Step::refused: refuse(reader_.refusal()); break;
    }
    any = true;
  }
  return any;
}

void Connection::read_head() {
  reader_.head().peer = peer_;
  std::size_t body_max = service_.options.body_max;
  if (service_.on_head) {
    if (auto refusal = service_.on_head(reader_.head(), body_max)) return refuse_head(*std::move(refusal), true);
  }
  reader_.allow_body(body_max);
  // One that is too large is told so by the reader, and takes nothing.
  const bool fits = reader_.body_length().value_or(0) <= body_max;
  if (auto refusal = fits ? take_account() : std::nullopt) return refuse_head(*std::move(refusal), false);
  owes_continue_ = reader_.expects_continue() && reader_.has_body() && reader_.unread() == 0;
}

void Connection::refuse_head(HttpResponse response, bool keep_alive) {
  Exchange& exchange = add_exchange();
  exchange.head_only = reader_.head().method == Method::head;
  exchange.http_1_0 = reader_.is_http_1_0();
  exchange.keep_alive = keep_alive && reader_.keep_alive() && !reader_.has_body();
  if (!exchange.keep_alive) input_over_ = true;
  refused_ = reader_.has_body();
  skips_request_ = true;
  if (input_over_) reader_.drop();
  answer(exchange, std::move(response));
}

// Puts the request on its account, with what its body will take if that is known. An answer: there is no room.
std::optional<HttpResponse> Connection::take_account() {
  const HttpRequest& head = reader_.head();
  if (head.is_vital) return std::nullopt;
  std::shared_ptr<Account> account =
      head.payer.empty() ? service_.budget->account(peer_, AccountOf::address) : service_.budget->account(head.payer);
  if (account != account_) {
    if (service_.budget->for_connection(*account) != Budget::Room::enough) {
      return busy_response(429, "too_many_connections",
                           fmt::format("{} connections are open for this key, as many as are allowed",
                                       service_.budget->limits().connections_each));
    }
    counted_ = CountHold(account, &Account::connections);
    const std::size_t held = held_.bytes();
    held_ = ByteHold(service_.budget, account);
    held_.set(held);
    account_ = std::move(account);
  }
  if (service_.budget->for_call(*account_) != Budget::Room::enough) {
    return busy_response(429, "too_many_calls",
                         fmt::format("{} calls of this caller are under way, as many as are allowed; try again",
                                     service_.budget->limits().calls_each));
  }
  if (const Budget::Room room = service_.budget->for_next_answer(*account_); room != Budget::Room::enough) {
    return refused_for_room(room);
  }
  const std::size_t length = kBodyFactor * reader_.body_length().value_or(0);
  if (length <= Budget::kUncountedMax) return std::nullopt;
  if (const Budget::Room room = service_.budget->for_bytes(*account_, length); room != Budget::Room::enough) {
    return refused_for_room(room);
  }
  // Who has no key takes no room by saying that it will come.
  if (account_->of == AccountOf::address) return std::nullopt;
  body_ = std::make_shared<ByteHold>(service_.budget, account_);
  body_->set(length);
  return std::nullopt;
}

// What has come of a body that was not booked by its head. False: it is refused.
bool Connection::hold_body() {
  if (skips_request_ || reader_.head().is_vital) return true;
  const std::size_t bytes = kBodyFactor * reader_.head().body.size();
  if (bytes <= Budget::kUncountedMax || (body_ && bytes <= body_->bytes())) return true;
  const std::size_t held = body_ ? body_->bytes() : 0;
  if (const Budget::Room room = service_.budget->for_bytes(*account_, bytes, held); room != Budget::Room::enough) {
    const bool is_own = room == Budget::Room::none_for_account;
    refuse({.status = is_own ? 429 : 503,
            .code = is_own ? "too_many_bytes" : "overloaded",
            .message = "too many bodies and answers are under way; try again"});
    return false;
  }
  if (!body_) body_ = std::make_shared<ByteHold>(service_.budget, account_);
  body_->set(bytes);
  return true;
}

void Connection::hold_output() {
  if (lost_) return;
  const std::size_t bytes = unsent() + reader_.unread();
  held_.set(bytes <= Budget::kUncountedMax ? 0 : bytes);
}

void Connection::dispatch_request() {
  if (std::exchange(skips_request_, false)) {
    reader_.take();
    return;
  }
  const std::uint64_t number = first_ + exchanges_.size();
  Exchange& exchange = add_exchange();
  exchange.http_1_0 = reader_.is_http_1_0();
  exchange.keep_alive = reader_.keep_alive();
  if (!exchange.keep_alive) input_over_ = true;
  owes_continue_ = false;
  HttpRequest request = reader_.take();
  exchange.body = std::exchange(body_, nullptr);
  request.held = exchange.body;
  exchange.head_only = request.method == Method::head;
  exchange.call = CountHold(account_, &Account::calls);
  service_.dispatch(std::move(request), make_reply({.mailbox = service_.mailbox,
                                                    .connection = weak_from_this(),
                                                    .link = link_,
                                                    .unsent_max = service_.options.unsent_max,
                                                    .budget = service_.budget,
                                                    .account = account_,
                                                    .number = number}));
}

Connection::Exchange& Connection::add_exchange() { return exchanges_.emplace_back(); }

Connection::Exchange* Connection::find(std::uint64_t number) {
  if (number < first_ || number - first_ >= exchanges_.size()) return nullptr;
  return &exchanges_[number - first_];
}

// ---- Answers ---------------------------------------------------------------------------------------------------

void Connection::answer(Exchange& exchange, HttpResponse response) {
  exchange.state = Exchange::State::ready;
  exchange.body.reset();
  exchange.counted = response.body.size();
  link_->unsent += exchange.counted;
  exchange.response = std::move(response);
}

void Connection::accept(Exchange& exchange, SendMail mail) {
  const std::function<void()> forgotten = std::exchange(exchange.gone, {});
  answer(exchange, std::move(mail.response));
  // Only then is what it took on its way given back.
  if (mail.held.bytes() > 0) hold_output();
}

void Connection::accept(Exchange& exchange, MakeMail mail) {
  SendMail sent{.response = mail.make(), .held = std::move(mail.held)};
  // In place of what it was made of.
  sent.held.set(0);
  if (sent.held.take_answer(sent.response.body.size()) != Budget::Room::enough) {
    sent.response = refused_for_room(Budget::Room::none);
  }
  accept(exchange, std::move(sent));
}

void Connection::accept(Exchange& exchange, StreamMail mail) {
  exchange.response = std::move(mail.head);
  exchange.over = std::move(mail.over);
  exchange.state = Exchange::State::streaming;
  if (exchange.http_1_0) {
    exchange.keep_alive = false;
    input_over_ = true;
  }
  if (!exchange.head_only && !service_.draining && !peer_ended_) return;
  exchange.over->store(true);
  exchange.state = Exchange::State::ended;
}

void Connection::accept(Exchange& exchange, const TextMail& mail) {
  if (exchange.state != Exchange::State::streaming) {
    link_->unsent -= mail.text.size();
    return;
  }
  exchange.counted += mail.text.size();
  exchange.text += exchange.http_1_0 ? mail.text : chunk_of(mail.text);
}

void Connection::accept(Exchange& exchange, EndMail /*mail*/) {
  if (exchange.state == Exchange::State::streaming) exchange.state = Exchange::State::ended;
}

void Connection::accept(Exchange& /*exchange*/, OverflowMail /*mail*/) { aborted_ = true; }

void Connection::accept(Exchange& exchange, GoneMail mail) {
  if (exchange.state == Exchange::State::ready || exchange.state == Exchange::State::ended) return;
  if (!peer_ended_) {
    exchange.gone = std::move(mail.gone);
  } else if (busy_) {
    // Whoever registers it may hold a lock that it takes as well.
    service_.mailbox->post({.to = {}, .content = std::move(mail)});
  } else {
    mail.gone();
  }
}

std::vector<std::function<void()>> Connection::take_gone() {
  std::vector<std::function<void()>> gone;
  for (Exchange& exchange : exchanges_) {
    if (exchange.gone) gone.push_back(std::exchange(exchange.gone, {}));
  }
  return gone;
}

void Connection::call_gone() {
  const Busy busy(busy_);
  for (const auto& call : take_gone()) call();
}

// Moves answers that are due into the output. Whether that makes room for requests.
bool Connection::write_some() {
  bool any = false;
  while (!exchanges_.empty() && write_front()) {
    // Destroyed when it has left the list: it may hold a reply.
    const Exchange done = std::move(exchanges_.front());
    exchanges_.pop_front();
    ++first_;
    any = true;
  }
  if (exchanges_.empty() && owes_continue_) {
    owes_continue_ = false;
    output_.add(std::string(kContinue));
  }
  return any;
}

// Writes what there is of the first answer. Whether that was all.
bool Connection::write_front() {
  Exchange& exchange = exchanges_.front();
  if (exchange.state == Exchange::State::waiting) return false;
  const std::size_t counted = std::exchange(exchange.counted, 0);
  if (exchange.state == Exchange::State::ready) {
    write_head(exchange, Framing::length);
    const bool with_body =
        !exchange.head_only && has_body(exchange.response->status) && !exchange.response->body.empty();
    if (with_body) {
      output_.add(std::move(exchange.response->body), counted);
    } else {
      link_->unsent -= counted;
    }
    return true;
  }
  const Framing framing = exchange.http_1_0 ? Framing::until_end : Framing::chunked;
  if (!std::exchange(exchange.head_written, true)) write_head(exchange, framing);
  output_.add(std::exchange(exchange.text, {}), counted);
  if (exchange.state == Exchange::State::streaming) return false;
  if (framing == Framing::chunked && !exchange.head_only) output_.add(std::string(kLastChunk));
  return true;
}

void Connection::write_head(Exchange& exchange, Framing framing) {
  const bool is_last = exchanges_.size() == 1 && (input_over_ || service_.draining);
  const bool close = !exchange.keep_alive || is_last;
  if (close) input_over_ = true;
  output_.add(
      response_head(*exchange.response,
                    {.framing = framing, .http_1_0 = exchange.http_1_0, .close = close, .date = service_.date.now()}));
}

}  // namespace carillon::server
