#include "server/api/keyed_reply.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <utility>

#include "server/api/answer.h"

namespace carillon::server {

namespace {

class KeyedReply final : public ReplySink, public std::enable_shared_from_this<KeyedReply> {
 public:
  KeyedReply(std::shared_ptr<OpenCalls> calls, OpenCalls::Owner owner, std::function<bool()> stands, Reply reply)
      : calls_(std::move(calls)), owner_(std::move(owner)), stands_(std::move(stands)), reply_(std::move(reply)) {}
  KeyedReply(const KeyedReply&) = delete;
  KeyedReply& operator=(const KeyedReply&) = delete;
  ~KeyedReply() override { close(); }

  void send(HttpResponse response) override {
    close();
    reply_->send(std::move(response));
  }

  void send_made(Make make, std::size_t bytes) override {
    close();
    reply_->send_made(std::move(make), bytes);
  }

  std::shared_ptr<Stream> stream(HttpResponse head) override {
    std::shared_ptr<Stream> stream = reply_->stream(std::move(head));
    if (!stream) return stream;
    calls_->add_stream(owner_, stream);
    if (!stands_()) stream->end();
    return stream;
  }

  void on_gone(std::function<void()> gone) override {
    {
      const std::scoped_lock lock(mutex_);
      if (closed_) return;  // answered already
      gone_ = std::move(gone);
      number_ = calls_->add(owner_, [weak = weak_from_this()] {
        if (const auto open = weak.lock()) open->key_ended();
      });
    }
    reply_->on_gone([weak = weak_from_this()] {
      const auto open = weak.lock();
      if (const auto taken = open ? open->close() : nullptr) taken();
    });
    if (!stands_()) key_ended();
  }

  ClientState client() const override { return reply_->client(); }

 private:
  // Gives what is to be done if the client goes, once.
  std::function<void()> close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    if (number_ != 0) calls_->remove(std::exchange(number_, 0));
    return std::exchange(gone_, nullptr);
  }

  void key_ended() {
    const auto taken = close();
    if (!taken) return;  // it is being answered
    taken();
    HttpResponse refused =
        refusal(401, "unauthorized",
                "the key was revoked or changed, has become too old, or has signed out, while the call waited");
    reply_->send(std::move(refused));
  }

  const std::shared_ptr<OpenCalls> calls_;
  const OpenCalls::Owner owner_;
  const std::function<bool()> stands_;
  const Reply reply_;
  std::mutex mutex_;
  bool closed_ = false;
  std::uint64_t number_ = 0;  // among the open calls
  std::function<void()> gone_;
};

}  // namespace

Reply ending_with_key(const std::shared_ptr<OpenCalls>& calls, OpenCalls::Owner owner, std::function<bool()> stands,
                      Reply reply) {
  return std::make_shared<KeyedReply>(calls, std::move(owner), std::move(stands), std::move(reply));
}

}  // namespace carillon::server
