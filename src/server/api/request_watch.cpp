#include "server/api/request_watch.h"

#include <atomic>
#include <memory>
#include <utility>

namespace carillon::server {

namespace {

class WatchedReply final : public ReplySink, public std::enable_shared_from_this<WatchedReply> {
 public:
  WatchedReply(const HttpRequest& request, Reply reply, RequestWatch watch)
      : method_(request.method), path_(request.path), reply_(std::move(reply)), watch_(std::move(watch)) {}
  WatchedReply(const WatchedReply&) = delete;
  WatchedReply& operator=(const WatchedReply&) = delete;
  // Dropped without an answer: the reply within answers 500.
  ~WatchedReply() override { tell(500); }

  void send(HttpResponse response) override {
    tell(response.status);
    reply_->send(std::move(response));
  }
  void send_made(Make make, std::size_t bytes) override {
    reply_->send_made(
        [watched = shared_from_this(), make = std::move(make)] {
          HttpResponse response = make();
          watched->tell(response.status);
          return response;
        },
        bytes);
  }
  std::shared_ptr<Stream> stream(HttpResponse head) override {
    tell(head.status);
    return reply_->stream(std::move(head));
  }
  void on_gone(std::function<void()> gone) override { reply_->on_gone(std::move(gone)); }
  ClientState client() const override { return reply_->client(); }

 private:
  void tell(int status) {
    if (told_.exchange(true)) return;
    const auto took = std::chrono::steady_clock::now() - began_;
    watch_({.method = method_,
            .path = path_,
            .status = status,
            .took = std::chrono::duration_cast<std::chrono::microseconds>(took)});
  }

  const Method method_;
  const std::string path_;
  const Reply reply_;
  const RequestWatch watch_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::atomic<bool> told_ = false;
};

}  // namespace

Reply watched(const HttpRequest& request, Reply reply, RequestWatch watch) {
  return std::make_shared<WatchedReply>(request, std::move(reply), std::move(watch));
}

}  // namespace carillon::server
