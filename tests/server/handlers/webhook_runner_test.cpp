// Jobs of a real node whose handler is a webhook on loopback.
#include "server/handlers/webhook_runner.h"

#include <fmt/format.h>

#include <deque>
#include <thread>

#include "base/clock.h"
#include "engine/support/hand_node.h"
#include "server/handlers/signature.h"
#include "server/handlers/support/http_target.h"

namespace carillon::server {
namespace {

using namespace carillon::test;

class WebhookRunnerTest : public ::testing::Test {
 protected:
  WebhookRunnerTest() { use({.at_once = 256, .of_one_host = 64}); }

  void use(WebhookRunner::Options options, const std::vector<std::string>& allowed = {"127.0.0.1"}) {
    const AddressGuard guard = value_of(AddressGuard::allowing(allowed));
    sender_ = std::make_shared<WebhookSender>(WebhookSender::Options{.guard = guard, .ca_file = {}, .resolve = {}});
    runner_ = std::make_unique<WebhookRunner>(
        WebhookEnvironment{
            .sender = sender_,
            .port = node.node().port(),
            .finished = finished_,
            .slots = node.node().slots(),
            .target = [this](std::string_view tenant, std::string_view type) -> std::optional<WebhookTarget> {
              if (tenant != "default") return std::nullopt;
              const auto found = urls.find(std::string(type));
              if (found == urls.end()) return std::nullopt;
              return WebhookTarget{.url = found->second, .secrets = secrets, .timeout = timeout};
            }},
        options);
  }

  JobId begin(const JobRequest& request) {
    const JobId id = node.enqueue(request);
    runner_->start(node.take());
    return id;
  }
  // Hands what has ended to the node.
  std::size_t collect(std::size_t count) {
    std::size_t got = 0;
    while (got < count) {
      bell_->sleep(60s);
      std::vector<Finished> all = finished_->take();
      if (all.empty()) return got;
      for (Finished& one : all) {
        last = one.how;
        node.node().finished()->put(std::move(one));
        ++got;
      }
    }
    node.settle_down();
    return got;
  }
  JobInfo run(const JobRequest& request) {
    const JobId id = begin(request);
    EXPECT_EQ(collect(1), 1U);
    return node.job(id);
  }

  HandNode node;
  std::map<std::string, std::string> urls;
  std::vector<std::string> secrets{make_secret()};
  std::optional<Duration> timeout;
  Finished::How last = Finished::How::returned;

  std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  std::shared_ptr<FinishedQueue> finished_ = std::make_shared<FinishedQueue>(bell_);
  std::shared_ptr<WebhookSender> sender_;
  std::unique_ptr<WebhookRunner> runner_;
};

HttpTarget::Answer always(std::string bytes) {
  return [bytes = std::move(bytes)](const std::string&) { return HttpTarget::Reply{.bytes = bytes}; };
}

TEST_F(WebhookRunnerTest, TheJobArrivesSignedAndTheAnswerCompletesIt) {
  HttpTarget target(always(http_answer(200, R"({"output":{"sent":1},"then":[{"type":"next"}]})")));
  urls["mail"] = target.url("/hook");
  secrets.push_back(make_secret());
  const JobInfo job = run({.type = "mail", .payload = R"({"to": "ada"})", .idempotency_key = "k1", .tags = {"t"}});
  EXPECT_EQ(job.state, JobState::done);
  EXPECT_EQ(job.output, R"({"sent":1})");
  ASSERT_NE(node.take(), nullptr);  // the follow-up

  const std::string request = target.requests().front();
  EXPECT_TRUE(request.starts_with("POST /hook HTTP/1.1\r\n"));
  EXPECT_EQ(header_of(request, "Content-Type"), "application/json");
  EXPECT_EQ(header_of(request, "webhook-id"), format_job_id(job.id));
  const std::string id = header_of(request, "webhook-id");
  const std::string timestamp = header_of(request, "webhook-timestamp");
  const std::string signature = header_of(request, "webhook-signature");
  for (const std::string& secret : secrets) {
    EXPECT_TRUE(verify(std::vector{secret}, {.id = id, .timestamp = timestamp, .signature = signature},
                       body_of(request), system_now()));
  }
  const JsonValue body = value_of(JsonValue::parse(body_of(request)));
  EXPECT_EQ(body.keys(), (std::vector<std::string>{"job", "attempt", "token"}));
  EXPECT_EQ(body.at("attempt").as_int(), 1);
  EXPECT_EQ(body.at("token").as_int(), job.token);
  const JsonValue sent = body.at("job");
  EXPECT_EQ(sent.at("id").as_string(), id);
  EXPECT_EQ(sent.at("state").as_string(), "processing");
  EXPECT_EQ(sent.at("payload").raw(), R"({"to": "ada"})");
  EXPECT_EQ(sent.at("idempotency_key").as_string(), "k1");
  EXPECT_EQ(sent.at("tags").raw(), R"(["t"])");
  EXPECT_EQ(sent.at("attempt").as_int(), 1);
  EXPECT_EQ(sent.at("created_at").as_string(), format_instant(job.created_at));
  EXPECT_EQ(sent.at("trigger").as_string(), "api");
  std::vector<std::string> wanted = value_of(JsonValue::parse(to_json(job))).keys();
  wanted.back() = "trigger";  // instead of the attempts
  EXPECT_EQ(sent.keys(), wanted);
}

TEST_F(WebhookRunnerTest, TheJobSaysTheTimeoutThatHolds) {
  HttpTarget target(always(http_answer(200, "")));
  urls["mail"] = target.url();
  const auto sent = [&](std::optional<Duration> handlers, Duration jobs) {
    timeout = handlers;
    run({.type = "mail", .timeout = jobs});
    return value_of(JsonValue::parse(body_of(target.requests().back()))).at("job").at("timeout").as_string();
  };
  EXPECT_EQ(sent(std::nullopt, 2min), "2m");
  EXPECT_EQ(sent(10s, 2min), "10s");
  EXPECT_EQ(sent(5min, 2min), "2m");
}

TEST_F(WebhookRunnerTest, ARetryHasTheSameIdAndAHigherToken) {
  int calls = 0;
  HttpTarget target(
      [&](const std::string&) { return HttpTarget::Reply{.bytes = http_answer(++calls == 1 ? 500 : 200, "")}; });
  urls["mail"] = target.url();
  const JobInfo failed = run({.type = "mail"});
  EXPECT_EQ(failed.state, JobState::queued);
  EXPECT_EQ(failed.last_error, "the webhook answered 500");
  node.clock.advance(1h);
  runner_->start(node.take());
  ASSERT_EQ(collect(1), 1U);
  EXPECT_EQ(node.job(failed.id).state, JobState::done);
  const std::vector<std::string> requests = target.requests();
  EXPECT_EQ(header_of(requests[0], "webhook-id"), header_of(requests[1], "webhook-id"));
  const auto token = [](const std::string& request) {
    return value_of(JsonValue::parse(body_of(request))).at("token").as_int();
  };
  EXPECT_LT(token(requests[0]), token(requests[1]));
}

TEST_F(WebhookRunnerTest, GoneAndBlockedGoToTheDlq) {
  HttpTarget gone(always(http_answer(410, "")));
  urls["gone"] = gone.url();
  urls["inner"] = "http://127.0.0.2:9/";
  const JobInfo first = run({.type = "gone"});
  EXPECT_EQ(first.state, JobState::dlq);
  const JobInfo second = run({.type = "inner"});
  EXPECT_EQ(second.state, JobState::dlq);
  EXPECT_EQ(second.attempts.back().error_class, "blocked_address");
}

TEST_F(WebhookRunnerTest, RetryAfterIsKept) {
  HttpTarget busy(always(http_answer(429, "", "Retry-After: 90\r\n")));
  urls["mail"] = busy.url();
  const JobInfo job = run({.type = "mail", .limits = {"provider"}});
  EXPECT_EQ(job.state, JobState::queued);
  EXPECT_GE(job.run_at, node.clock.now() + 90s);
  EXPECT_EQ(job.attempts.back().result, AttemptResult::rate_limited);
}

TEST_F(WebhookRunnerTest, ATypeWithoutAWebhookFails) {
  EXPECT_EQ(run({.type = "unknown"}).attempts.back().error_class, "no_handler");
}

TEST_F(WebhookRunnerTest, TheShorterTimeoutCounts) {
  HttpTarget silent([](const std::string&) { return HttpTarget::Reply{.hold = true}; });
  urls["mail"] = silent.url();
  timeout = 300ms;
  EXPECT_EQ(run({.type = "mail"}).attempts.back().error_class, "timeout");
}

TEST_F(WebhookRunnerTest, WhatIsCancelledWhileItRunsIsCutOff) {
  HttpTarget silent([](const std::string&) { return HttpTarget::Reply{.hold = true}; });
  urls["mail"] = silent.url();
  const JobId id = node.enqueue({.type = "mail"});
  const RunPtr run = node.take();
  runner_->start(run);
  ASSERT_TRUE(silent.wait_for_requests(1));
  run->stop_requested = true;
  ASSERT_EQ(collect(1), 1U);
  EXPECT_EQ(node.job(id).attempts.back().error_class, "cancelled");
}

TEST_F(WebhookRunnerTest, WhatMayNotStartAnyMoreIsNotCalled) {
  HttpTarget target(always(http_answer(200, "")));
  urls["mail"] = target.url();
  const JobId late = node.enqueue({.type = "mail", .deadline = node.clock.now() + 1s});
  RunPtr run = node.take();
  node.clock.advance(2s);
  runner_->start(run);
  ASSERT_EQ(collect(1), 1U);
  EXPECT_EQ(last, Finished::How::not_started);
  EXPECT_NE(node.job(late).state, JobState::done);

  node.enqueue({.type = "mail"});
  run = node.take();
  ASSERT_TRUE(run->withdraw());
  runner_->start(run);  // comes back as nothing
  const JobId good = begin({.type = "mail"});
  ASSERT_EQ(collect(1), 1U);
  EXPECT_EQ(node.job(good).state, JobState::done);
  EXPECT_EQ(target.requests().size(), 1U);
}

TEST_F(WebhookRunnerTest, AHostThatIsSlowLeavesRoomForOthersAndAllHaveTheirTurn) {
  use({.at_once = 3, .of_one_host = 2});
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  HttpTarget slow([&](const std::string&) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, 60s, [&] { return open; });
    return HttpTarget::Reply{.bytes = http_answer(200, "")};
  });
  HttpTarget quick(always(http_answer(200, "")));
  urls["slow"] = slow.url();
  urls["quick"] = quick.url();
  std::vector<JobId> slow_jobs;
  for (int i = 0; i < 5; ++i) slow_jobs.push_back(begin({.type = "slow"}));
  const JobId passed = begin({.type = "quick"});
  ASSERT_EQ(collect(1), 1U);
  EXPECT_EQ(node.job(passed).state, JobState::done);
  EXPECT_LE(slow.connections(), 2);
  {
    const std::scoped_lock lock(mutex);
    open = true;
  }
  changed.notify_all();
  ASSERT_EQ(collect(5), 5U);
  for (const JobId id : slow_jobs) EXPECT_EQ(node.job(id).state, JobState::done);
  EXPECT_LE(slow.connections(), 5);
}

TEST_F(WebhookRunnerTest, WhenTheSenderEndsEveryRunComesBack) {
  use({.at_once = 2, .of_one_host = 2});
  HttpTarget silent([](const std::string&) { return HttpTarget::Reply{.hold = true}; });
  urls["mail"] = silent.url();
  for (int i = 0; i < 5; ++i) begin({.type = "mail"});
  ASSERT_TRUE(silent.wait_for_requests(2));
  runner_.reset();
  sender_.reset();
  EXPECT_EQ(finished_->take().size(), 5U);
}

TEST_F(WebhookRunnerTest, NoCallIsSentWithoutASlotOfTheNode) {  // invariant 6
  HttpTarget target(always(http_answer(200, "{}")));
  urls["mail"] = target.url();
  std::deque<Slots::Slot> others;  // threads have them all
  while (auto slot = node.node().slots()->take()) others.push_back(*std::move(slot));
  const JobId id = begin({.type = "mail"});
  std::this_thread::sleep_for(200ms);
  EXPECT_TRUE(target.requests().empty());
  EXPECT_EQ(node.node().runs().running(), 0U);
  others.pop_front();
  EXPECT_EQ(collect(1), 1U);
  EXPECT_EQ(node.job(id).state, JobState::done);
  EXPECT_TRUE(node.node().slots()->take()) << "it has given it back";
}

TEST_F(WebhookRunnerTest, ASplitRunnerSendsEachItsWay) {
  class Collecting final : public Runner {
   public:
    explicit Collecting(std::vector<std::string>& into) : into_(into) {}
    Collecting(const Collecting&) = delete;
    Collecting& operator=(const Collecting&) = delete;
    ~Collecting() override = default;
    void start(RunPtr run) override { into_.push_back(run->job.type); }

   private:
    std::vector<std::string>& into_;
  };
  std::vector<std::string> webhooks;
  std::vector<std::string> others;
  SplitRunner split(std::make_unique<Collecting>(webhooks), std::make_unique<Collecting>(others),
                    [](std::string_view, std::string_view type) { return type == "hook"; });
  for (const char* type : {"hook", "code"}) {
    node.enqueue({.type = type});
    split.start(node.take());
  }
  EXPECT_EQ(webhooks, std::vector<std::string>{"hook"});
  EXPECT_EQ(others, std::vector<std::string>{"code"});
}

}  // namespace
}  // namespace carillon::server
