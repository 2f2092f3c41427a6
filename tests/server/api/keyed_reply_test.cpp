// Calls that last end with their key: once, whoever comes first.
#include "server/api/keyed_reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct KeyedStream final : Stream {
  bool write(std::string /*text*/) override { return !ended; }
  void end() override { ended = true; }
  void cut() override { ended = true; }
  bool is_over() const override { return ended; }
  std::size_t unsent() const override { return 0; }
  bool ended = false;
};

struct KeyedTarget final : ReplySink {
  void send(HttpResponse response) override { sent.push_back(response.status); }
  std::shared_ptr<Stream> stream(HttpResponse /*head*/) override { return open; }
  void on_gone(std::function<void()> gone) override { client_goes = std::move(gone); }

  std::vector<int> sent;
  std::shared_ptr<KeyedStream> open = std::make_shared<KeyedStream>();
  std::function<void()> client_goes;
};

class KeyedReplyTest : public ::testing::Test {
 protected:
  std::shared_ptr<OpenCalls> calls = std::make_shared<OpenCalls>();
  std::shared_ptr<KeyedTarget> told = std::make_shared<KeyedTarget>();
  Reply reply = ending_with_key(calls, {.key = "k1", .session = "s1"}, [this] { return stands; }, told);
  bool stands = true;
  int taken_back = 0;
};

TEST_F(KeyedReplyTest, AParkedCallIsTakenBackAndRefused) {
  reply->on_gone([this] { ++taken_back; });
  EXPECT_EQ(calls->size(), 1U);
  calls->end("k2");
  EXPECT_THAT(told->sent, IsEmpty());
  calls->end("k1");
  EXPECT_EQ(taken_back, 1);
  EXPECT_THAT(told->sent, ElementsAre(401));
  calls->end("k1");
  told->client_goes();
  EXPECT_EQ(taken_back, 1);
  EXPECT_EQ(calls->size(), 0U);
}

TEST_F(KeyedReplyTest, OneWhoseAnswerIsBeingMadeIsLeftAlone) {
  reply->on_gone([this] { ++taken_back; });
  reply->send_made([] { return HttpResponse{.status = 200}; }, 0);
  calls->end("k1");
  EXPECT_THAT(told->sent, ElementsAre(200));
  EXPECT_EQ(taken_back, 0);
}

TEST_F(KeyedReplyTest, OneThatWasAnsweredIsLeftAlone) {
  reply->on_gone([this] { ++taken_back; });
  reply->send({.status = 200});
  calls->end("k1");
  EXPECT_THAT(told->sent, ElementsAre(200));
  EXPECT_EQ(taken_back, 0);
  EXPECT_EQ(calls->size(), 0U);
}

TEST_F(KeyedReplyTest, OneThatIsAnsweredBeforeItIsParkedIsNotOpen) {
  reply->send({.status = 200});
  reply->on_gone([this] { ++taken_back; });
  EXPECT_EQ(calls->size(), 0U);
}

TEST_F(KeyedReplyTest, AClientThatGoesTakesItsCallBack) {
  reply->on_gone([this] { ++taken_back; });
  told->client_goes();
  calls->end("k1");
  EXPECT_EQ(taken_back, 1);
  EXPECT_THAT(told->sent, IsEmpty());
}

// Who parks a call may hold its reply in what it does when the client goes.
TEST_F(KeyedReplyTest, NobodyKeepsItselfAlive) {
  const std::weak_ptr<ReplySink> seen = reply;
  reply->on_gone([held = reply] {});
  reply->send({.status = 200});
  reply.reset();
  EXPECT_TRUE(seen.expired());
}

TEST_F(KeyedReplyTest, AStreamEnds) {
  const std::shared_ptr<Stream> stream = reply->stream({});
  reply.reset();  // whoever asked for it is done
  calls->end_unless([](const OpenCalls::Owner&) { return true; });
  EXPECT_FALSE(told->open->ended);
  calls->end_unless([](const OpenCalls::Owner& owner) { return owner.key != "k1"; });
  EXPECT_TRUE(told->open->ended);
}

TEST_F(KeyedReplyTest, AStreamEndsWithItsSession) {
  const std::shared_ptr<Stream> stream = reply->stream({});
  calls->end_session("s2");
  EXPECT_FALSE(told->open->ended);
  calls->end_session("s1");
  EXPECT_TRUE(told->open->ended);
}

// Who has changed the key by then has found nothing to end.
TEST_F(KeyedReplyTest, AStreamThatBeginsAfterItsKeyHasChangedEnds) {
  stands = false;
  const std::shared_ptr<Stream> stream = reply->stream({});
  EXPECT_TRUE(told->open->ended);
}

TEST_F(KeyedReplyTest, ACallThatIsParkedAfterItsKeyHasChangedIsRefused) {
  stands = false;
  reply->on_gone([this] { ++taken_back; });
  EXPECT_EQ(taken_back, 1);
  EXPECT_THAT(told->sent, ElementsAre(401));
  EXPECT_EQ(calls->size(), 0U);
}

TEST_F(KeyedReplyTest, AStreamThatNobodyHoldsIsForgotten) {
  reply->stream({});
  EXPECT_EQ(calls->size(), 1U);
  told->open.reset();
  calls->end_unless([](const OpenCalls::Owner&) { return true; });
  EXPECT_EQ(calls->size(), 0U);
}

}  // namespace
}  // namespace carillon::server
