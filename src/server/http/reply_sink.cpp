#include "server/http/reply_sink.h"

#include <atomic>
#include <utility>

#include "server/http/connection.h"
#include "server/http/response_writer.h"

namespace carillon::server {

namespace {

// To the connection: at once if it is the one that is calling us, else through the mailbox. False if there is none.
template <typename Content>
bool deliver(const ReplyAddress& address, Content content) {
  if (address.mailbox->is_net_thread()) {
    if (const auto connection = address.connection.lock(); connection && connection->is_busy()) {
      connection->handle({.to = {}, .number = address.number, .content = std::move(content)});
      return true;
    }
  }
  return address.mailbox->post({.to = address.connection, .number = address.number, .content = std::move(content)});
}

class SinkStream final : public Stream {
 public:
  SinkStream(ReplyAddress address, std::shared_ptr<StreamOver> over)
      : address_(std::move(address)), over_(std::move(over)) {}
  SinkStream(const SinkStream&) = delete;
  SinkStream& operator=(const SinkStream&) = delete;
  ~SinkStream() override { finish(); }

  bool write(std::string text) override {
    if (over_->load()) return false;
    const std::size_t size = text.size();
    if (size == 0) return true;
    if (address_.link->unsent.fetch_add(size) + size > address_.unsent_max) {
      address_.link->unsent.fetch_sub(size);
      cut();
      return false;
    }
    if (deliver(address_, TextMail{.text = std::move(text)})) return true;
    over_->store(true);
    return false;
  }

  void end() override { finish(); }
  void cut() override {
    if (!over_->exchange(true)) deliver(address_, OverflowMail{});
  }
  bool is_over() const override { return over_->load(); }
  std::size_t unsent() const override { return address_.link->unsent.load(); }

 private:
  void finish() {
    if (!over_->exchange(true)) deliver(address_, EndMail{});
  }

  const ReplyAddress address_;
  const std::shared_ptr<StreamOver> over_;
};

class Sink final : public ReplySink {
 public:
  explicit Sink(ReplyAddress address) : address_(std::move(address)) {}
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  ~Sink() override { send(error_response(500, "internal_error", "the request was dropped without an answer")); }

  void send(HttpResponse response) override {
    if (answered_.exchange(true)) return;
    ByteHold held(address_.budget, address_.account);
    if (held.take_answer(response.body.size()) != Budget::Room::enough) {
      response = refused_for_room(Budget::Room::none);
    }
    deliver(address_, SendMail{.response = std::move(response), .held = std::move(held)});
  }

  void send_made(Make make, std::size_t bytes) override {
    if (answered_.exchange(true)) return;
    ByteHold held(address_.budget, address_.account);
    if (held.take_answer(bytes) != Budget::Room::enough) {
      deliver(address_, SendMail{.response = refused_for_room(Budget::Room::none), .held = std::move(held)});
      return;
    }
    deliver(address_, MakeMail{.make = std::move(make), .held = std::move(held)});
  }

  std::shared_ptr<Stream> stream(HttpResponse head) override {
    auto over = std::make_shared<StreamOver>(answered_.exchange(true));
    if (!over->load() && !deliver(address_, StreamMail{.head = std::move(head), .over = over})) over->store(true);
    return std::make_shared<SinkStream>(address_, std::move(over));
  }

  void on_gone(std::function<void()> gone) override { deliver(address_, GoneMail{.gone = std::move(gone)}); }

  ClientState client() const override { return address_.link->client; }

 private:
  const ReplyAddress address_;
  std::atomic<bool> answered_ = false;
};

}  // namespace

Reply make_reply(ReplyAddress address) { return std::make_shared<Sink>(std::move(address)); }

}  // namespace carillon::server
