// How answers reach the net thread: other threads put them into its mailbox.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/mailbox.h"
#include "server/http/budget.h"
#include "server/http/message.h"
#include "server/http/reply.h"

namespace carillon::server {

class Connection;

// What other threads know of a connection.
struct ClientLink {
  std::atomic<std::size_t> unsent = 0;  // bytes of answers; streams add to it from any thread
  std::atomic<ClientState> client = ClientState::there;
};

// Set when nothing more of a stream will be sent.
using StreamOver = std::atomic<bool>;

struct SendMail {
  HttpResponse response;
  ByteHold held;  // for its body, until the connection counts it
};
// A response that the net thread is to make.
struct MakeMail {
  ReplySink::Make make;
  ByteHold held;  // for what it is made of
};
struct StreamMail {
  HttpResponse head;
  std::shared_ptr<StreamOver> over;
};
struct TextMail {
  std::string text;
};
struct EndMail {};
// A stream that its client does not read fast enough.
struct OverflowMail {};
struct GoneMail {
  std::function<void()> gone;
};

struct Mail {
  std::weak_ptr<Connection> to;  // only the net thread may lock it
  std::uint64_t number = 0;      // of the request, counted on its connection
  std::variant<SendMail, MakeMail, StreamMail, TextMail, EndMail, OverflowMail, GoneMail> content;
};

// Nobody waits any more for what this brings: a call that was parked hears of it, and a response is made for those who
// count it.
void let_go(Mail& mail);

// Outlives its server for as long as somebody has a reply to give.
class NetMailbox {
 public:
  // `wake` is called when mail has come into an empty box, under its lock: it must be quick. Not once it is closed.
  explicit NetMailbox(std::function<void()> wake) : mail_(std::move(wake)) {}

  // False if it is closed.
  bool post(Mail mail) { return mail_.put(std::move(mail)); }
  std::vector<Mail> take() { return mail_.take(); }
  // What was left is returned.
  std::vector<Mail> close();

  // Called by the net thread, before it gives replies out.
  void belongs_to_this_thread() { net_thread_ = std::this_thread::get_id(); }
  bool is_net_thread() const { return std::this_thread::get_id() == net_thread_.load(); }

 private:
  std::atomic<std::thread::id> net_thread_;
  Mailbox<Mail> mail_;
};

}  // namespace carillon::server
