// What one client says and is told, without a socket: bytes come in, requests go out to the routes, answers come back
// in any order, bytes go out in the order of the requests. Net thread only.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_server.h"
#include "server/http/mail.h"
#include "server/http/output_queue.h"
#include "server/http/request_reader.h"
#include "server/http/response_writer.h"

namespace carillon::server {

// What all connections of a server share.
struct Service {
  HttpOptions options;
  HttpServer::Dispatch dispatch;
  HttpServer::OnHead on_head;
  std::shared_ptr<NetMailbox> mailbox;
  std::shared_ptr<Budget> budget;
  DateCache date;
  bool draining = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Connection(Service& service, std::string peer);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() = default;

  // ---- What happened. Each may call routes, and `gone` of parked ones.
  void received(std::string_view bytes);
  // The client sends nothing more; it may still read.
  void input_ended();
  void sent(std::size_t bytes);
  void handle(Mail mail);
  // Answers become output, requests that had to wait are read. After `handle`, before output is looked at.
  void proceed();
  // It may hand a few more requests out; beyond these the others are first. Before `proceed`, once an event.
  void begin_turn();
  // Requests may be left that it could hand out now.
  bool wants_turn() const { return turn_left_ == 0 && may_parse() && reader_.unread() > 0; }
  void refuse(const Refusal& refusal);
  // The server stops: streams end, and the connection with the answers that are due.
  void drain();
  // The socket is gone.
  void lost();
  // `deadline` has passed.
  void expired(Time now);

  // ---- What is wanted.
  bool wants_input() const;
  const OutputQueue& output() const { return output_; }
  // Nothing is left to be done.
  bool is_finished() const;
  // Finished with a client that may still be sending: closing at once could take the answer from it.
  bool was_refused() const { return refused_; }
  Time deadline(Time now);
  // Whether nothing is lost but what can be asked for again: no answer is being worked out or on its way.
  bool may_be_closed(Time now) const;
  // Of the last request; of the address if it had no key.
  const std::shared_ptr<Account>& account() const { return account_; }

  bool is_lost() const { return lost_; }
  // Whether it is being called now, and will see to its output itself.
  bool is_busy() const { return busy_; }

 private:
  enum class Phase : std::uint8_t { idle, head, body, none };

  // A request whose answer is not wholly written.
  struct Exchange {
    enum class State : std::uint8_t { waiting, ready, streaming, ended };
    State state = State::waiting;
    bool head_only = false;
    bool http_1_0 = false;
    bool keep_alive = true;
    bool head_written = false;
    std::size_t counted = 0;               // of `response` or `text`
    std::optional<HttpResponse> response;  // of a stream its head
    std::string text;                      // of a stream, framed, not yet written
    std::shared_ptr<StreamOver> over;      // of a stream
    std::function<void()> gone;
    CountHold call;
    std::shared_ptr<ByteHold> body;  // what was made of it may be there until the answer
  };

  bool may_parse() const;
  bool read_some();
  void read_head();
  void refuse_head(HttpResponse response, bool keep_alive);
  std::optional<HttpResponse> take_account();
  bool hold_body();
  void hold_output();
  void dispatch_request();
  bool write_some();
  void write_head(Exchange& exchange, Framing framing);
  bool write_front();
  void answer(Exchange& exchange, HttpResponse response);
  void accept(Exchange& exchange, SendMail mail);
  void accept(Exchange& exchange, MakeMail mail);
  void accept(Exchange& exchange, StreamMail mail);
  void accept(Exchange& exchange, const TextMail& mail);
  void accept(Exchange& exchange, EndMail mail);
  void accept(Exchange& exchange, OverflowMail mail);
  void accept(Exchange& exchange, GoneMail mail);
  Exchange* find(std::uint64_t number);
  Exchange& add_exchange();
  std::vector<std::function<void()>> take_gone();
  void call_gone();
  Phase phase() const;
  // Bytes of answers; those that are due with their heads.
  std::size_t unsent() const { return std::max(link_->unsent.load(), output_.bytes()); }

  Service& service_;
  const std::string peer_;
  const std::shared_ptr<ClientLink> link_ = std::make_shared<ClientLink>();
  RequestReader reader_;
  OutputQueue output_;
  std::shared_ptr<Account> account_;  // of the last request
  ByteHold held_;                     // for what is not sent and not read
  CountHold counted_;                 // on the account
  std::shared_ptr<ByteHold> body_;    // for the body that is coming
  std::deque<Exchange> exchanges_;
  std::uint64_t first_ = 0;  // the number of the first exchange
  std::size_t turn_left_ = 0;
  bool input_over_ = false;  // no more requests are read
  bool peer_ended_ = false;  // the client has said that it sends nothing more
  bool refused_ = false;
  bool aborted_ = false;  // close now
  bool lost_ = false;
  bool busy_ = false;
  bool skips_request_ = false;  // refused by its head, answered; its end is still to be read
  bool owes_continue_ = false;
  std::size_t discarded_ = 0;  // bytes that came when nothing was expected
  bool progressed_ = false;    // bytes were taken since the deadline was last worked out

  Phase phase_ = Phase::none;
  std::uint64_t phase_number_ = 0;
  Time phase_until_ = Time::max();
  Time write_until_ = Time::max();
};

}  // namespace carillon::server
