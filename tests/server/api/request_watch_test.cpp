#include "server/api/request_watch.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace carillon::server {
namespace {

class FakeReply final : public ReplySink {
 public:
  void send(HttpResponse response) override { sent = std::move(response); }
  std::shared_ptr<Stream> stream(HttpResponse head) override {
    sent = std::move(head);
    return nullptr;
  }
  void on_gone(std::function<void()> gone) override { gone_ = std::move(gone); }
  std::optional<HttpResponse> sent;

 private:
  std::function<void()> gone_;
};

struct Watched {
  std::vector<AnsweredRequest> seen;
  std::shared_ptr<FakeReply> within = std::make_shared<FakeReply>();

  Reply reply() {
    HttpRequest request{.method = Method::post, .path = "/v1/leases"};
    request.query.push_back({.name = "key", .value = "secret"});
    return watched(request, within, [this](const AnsweredRequest& one) { seen.push_back(one); });
  }
};

TEST(RequestWatch, TellsHowARequestWasAnswered) {
  Watched watched;
  const Reply reply = watched.reply();
  EXPECT_TRUE(watched.seen.empty());
  reply->send({.status = 404});
  ASSERT_EQ(watched.seen.size(), 1U);
  EXPECT_EQ(watched.seen[0].method, Method::post);
  EXPECT_EQ(watched.seen[0].path, "/v1/leases");
  EXPECT_EQ(watched.seen[0].status, 404);
  EXPECT_EQ(watched.within->sent->status, 404);
}

TEST(RequestWatch, AnAnswerThatIsMadeLaterIsToldThen) {
  Watched watched;
  const Reply reply = watched.reply();
  reply->send_made([] { return HttpResponse{.status = 201}; }, 0);
  ASSERT_EQ(watched.seen.size(), 1U);
  EXPECT_EQ(watched.seen[0].status, 201);
  EXPECT_EQ(watched.within->sent->status, 201);
}

TEST(RequestWatch, OneAnswerIsToldOnce) {
  Watched watched;
  {
    const Reply reply = watched.reply();
    reply->stream({.status = 200});
  }
  ASSERT_EQ(watched.seen.size(), 1U);
  EXPECT_EQ(watched.seen[0].status, 200);
}

TEST(RequestWatch, OneThatIsDroppedIsToldAsTheErrorThatItBecomes) {
  Watched watched;
  watched.reply().reset();
  ASSERT_EQ(watched.seen.size(), 1U);
  EXPECT_EQ(watched.seen[0].status, 500);
}

}  // namespace
}  // namespace carillon::server
