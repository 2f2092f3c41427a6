// Calls of real targets on loopback, and calls that must never arrive.
#include "server/handlers/webhook_sender.h"

#include <fmt/format.h>

#include <cstdlib>
#include <future>
#include <set>

#include "base/clock.h"
#include "server/handlers/support/addresses.h"
#include "server/handlers/support/http_target.h"
#include "support/results.h"

namespace carillon::server {
namespace {

using namespace carillon::test;
using namespace std::chrono_literals;
using Kind = WebhookAnswer::Kind;

HttpTarget::Answer always(std::string bytes) {
  return [bytes = std::move(bytes)](const std::string&) { return HttpTarget::Reply{.bytes = bytes}; };
}

AddressGuard allowing(const std::vector<std::string>& entries) { return value_of(AddressGuard::allowing(entries)); }
// The guard switched off: the negative control.
AddressGuard everything() { return allowing({"0.0.0.0/0", "::/0"}); }

WebhookAnswer call(WebhookSender& sender, const std::string& url, Duration timeout = 20s) {
  std::promise<WebhookAnswer> promise;
  auto future = promise.get_future();
  sender.send({.url = url, .headers = {{.name = "webhook-id", .value = "1"}}, .body = "{}", .timeout = timeout},
              [&](WebhookAnswer answer) { promise.set_value(std::move(answer)); });
  return future.get();
}

TEST(WebhookSender, SendsTheBodyAndHeadersAndHearsTheAnswer) {
  HttpTarget target(
      always(http_answer(201, R"({"output":1})", "Content-Type: application/json\r\nRetry-After: 7\r\n")));
  WebhookSender sender({.guard = allowing({fmt::format("127.0.0.1:{}", target.port())})});
  const WebhookAnswer answer = call(sender, target.url("/a?b=c"));
  EXPECT_EQ(answer.kind, Kind::answered) << answer.error;
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, R"({"output":1})");
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(answer.retry_after, " 7");
  const std::string request = target.requests().front();
  EXPECT_TRUE(request.starts_with("POST /a?b=c HTTP/1.1\r\n")) << request;
  EXPECT_EQ(header_of(request, "webhook-id"), "1");
  EXPECT_EQ(header_of(request, "Accept-Encoding"), "");
  EXPECT_EQ(header_of(request, "Expect"), "");
  EXPECT_EQ(body_of(request), "{}");
}

TEST(WebhookSender, ManyCallsAreUnderWayAtOnceOnOneThread) {
  constexpr std::size_t kCalls = 50;
  std::mutex mutex;
  std::condition_variable all_in;
  std::size_t inside = 0;
  // Nobody is answered before everybody has asked.
  HttpTarget target([&](const std::string&) {
    std::unique_lock lock(mutex);
    ++inside;
    all_in.notify_all();
    all_in.wait_for(lock, 60s, [&] { return inside >= kCalls; });
    return HttpTarget::Reply{.bytes = http_answer(200, "")};
  });
  WebhookSender sender({.guard = everything()});
  std::vector<std::future<int>> answers;
  for (std::size_t i = 0; i < kCalls; ++i) {
    auto promise = std::make_shared<std::promise<int>>();
    answers.push_back(promise->get_future());
    sender.send({.url = target.url(), .body = "{}", .timeout = 60s},
                [promise](const WebhookAnswer& answer) { promise->set_value(answer.status); });
  }
  for (auto& answer : answers) EXPECT_EQ(answer.get(), 200);
}

// ---- What must not be reached ---------------------------------------------------------------------------------------

// Listens on both loopback addresses, on one port.
struct Canary {
  HttpTarget v4{always(http_answer(200, "caught"))};
  HttpTarget v6{always(http_answer(200, "caught")), "::1", v4.port()};
  int hits() const { return v4.connections() + v6.connections(); }
};

TEST(WebhookSender, NoBlockedAddressIsEverConnectedTo) {
  const Canary canary;
  WebhookSender sender({.guard = AddressGuard()});
  for (const std::string_view host : kBlockedLiterals) {
    const WebhookAnswer answer = call(sender, fmt::format("http://{}:{}/", host, canary.v4.port()));
    EXPECT_EQ(answer.kind, Kind::blocked) << host << ": " << answer.error;
  }
  EXPECT_EQ(canary.hits(), 0);
}

TEST(WebhookSender, NoNameThatResolvesToABlockedAddressIsEverConnectedTo) {
  const Canary canary;
  std::string address;
  std::vector<std::string> told;
  WebhookSender sender({.guard = AddressGuard(),
                        .on_blocked = [&](const std::string&, const std::string& where) { told.push_back(where); },
                        .resolve = [&](const std::string&) { return std::vector{address}; }});
  std::size_t called = 0;
  for (const std::string_view literal : kBlockedLiterals) {
    address = to_string(parse_address(literal).value());
    const WebhookAnswer answer = call(sender, fmt::format("http://name{}.example:{}/", ++called, canary.v4.port()));
    EXPECT_EQ(answer.kind, Kind::blocked) << address << ": " << answer.error;
    // The operator hears what the name led to, whoever chose the name does not.
    EXPECT_THAT(answer.error, ::testing::Not(::testing::HasSubstr(address)));
    const auto why = reserved_for(parse_address(literal).value());
    ASSERT_EQ(told.size(), called);
    EXPECT_THAT(told.back(), ::testing::HasSubstr(address));
    EXPECT_THAT(answer.error, ::testing::Not(::testing::HasSubstr(fmt::format("({})", why.value_or("?")))));
  }
  EXPECT_EQ(canary.hits(), 0);
}

TEST(WebhookSender, AnotherGuardHoldsForTheCallsAfterIt) {
  const Canary canary;
  WebhookSender sender({.guard = AddressGuard()});
  const std::string url = fmt::format("http://127.0.0.1:{}/", canary.v4.port());
  EXPECT_EQ(call(sender, url).kind, Kind::blocked);
  sender.set_guard(everything());
  EXPECT_EQ(call(sender, url).kind, Kind::answered);
  // Also for a connection that is open already.
  sender.set_guard(AddressGuard());
  EXPECT_EQ(call(sender, url).kind, Kind::blocked);
}

TEST(WebhookSender, NoTrickReachesTheCanary) {
  const Canary canary;
  WebhookSender sender(
      {.guard = AddressGuard(), .resolve = [&](const std::string&) { return std::vector<std::string>{"127.0.0.1"}; }});
  for (const std::string_view url : kTrickUrls)
    EXPECT_NE(call(sender, std::string(url), 5s).kind, Kind::answered) << url;
  EXPECT_EQ(canary.hits(), 0);
}

TEST(WebhookSender, TheNegativeControlIsCaughtByTheCanary) {
  const Canary canary;
  WebhookSender sender(
      {.guard = everything(), .resolve = [&](const std::string&) { return std::vector<std::string>{"127.0.0.1"}; }});
  int expected = 0;
  for (const std::string_view host : {"127.0.0.1", "127.1", "0x7f.1", "2130706433", "0177.0.0.1", "[::1]",
                                      "[::ffff:127.0.0.1]", "0", "anything.example"}) {
    const WebhookAnswer answer = call(sender, fmt::format("http://{}:{}/", host, canary.v4.port()));
    EXPECT_EQ(answer.kind, Kind::answered) << host << ": " << answer.error;
    EXPECT_EQ(answer.body, "caught");
    ++expected;
  }
  // Some spellings are one host to the sender, and share a connection.
  EXPECT_GT(canary.hits(), 2);
  EXPECT_LE(canary.hits(), expected);
}

TEST(WebhookSender, TheRealLocalhostIsBlocked) {
  const Canary canary;
  WebhookSender sender({.guard = AddressGuard()});
  EXPECT_EQ(call(sender, fmt::format("http://localhost:{}/", canary.v4.port())).kind, Kind::blocked);
  EXPECT_EQ(canary.hits(), 0);
}

TEST(WebhookSender, ANameThatChangesItsAddressIsVettedAgain) {
  // The allowed target closes each connection, so that the second call has to connect anew.
  HttpTarget allowed(
      [](const std::string&) {
        return HttpTarget::Reply{.bytes = http_answer(200, "", "Connection: close\r\n"), .close = true};
      },
      "127.0.0.2");
  HttpTarget canary(always(http_answer(200, "caught")), "127.0.0.1", allowed.port());
  for (const bool guarded : {true, false}) {
    int asked = 0;
    WebhookSender sender(
        {.guard = guarded ? allowing({"127.0.0.2"}) : everything(), .resolve = [&](const std::string&) {
           return std::vector<std::string>{++asked == 1 ? "127.0.0.2" : "127.0.0.1"};
         }});
    const std::string url = fmt::format("http://rebind.example:{}/", allowed.port());
    EXPECT_EQ(call(sender, url).kind, Kind::answered);
    EXPECT_EQ(call(sender, url).kind, guarded ? Kind::blocked : Kind::answered);
    EXPECT_EQ(canary.connections(), guarded ? 0 : 1);
  }
}

TEST(WebhookSender, OfSeveralAddressesOnlyAllowedOnesAreTried) {
  HttpTarget allowed(always(http_answer(200, "allowed")), "127.0.0.2");
  HttpTarget canary(always(http_answer(200, "caught")), "127.0.0.1", allowed.port());
  WebhookSender sender({.guard = allowing({"127.0.0.2"}), .resolve = [](const std::string&) {
                          return std::vector<std::string>{"127.0.0.1", "127.0.0.2"};
                        }});
  EXPECT_EQ(call(sender, fmt::format("http://both.example:{}/", allowed.port())).body, "allowed");
  EXPECT_EQ(canary.connections(), 0);
}

TEST(WebhookSender, AConnectionThatIsOpenServesNobodyWhoMayNotHaveIt) {
  HttpTarget target(always(http_answer(200, "secret")));
  WebhookSender sender({.guard = allowing({"hook.internal"}),
                        .resolve = [](const std::string&) { return std::vector<std::string>{"127.0.0.1"}; }});
  const auto url = [&](std::string_view host) { return fmt::format("http://{}:{}/", host, target.port()); };
  EXPECT_EQ(call(sender, url("hook.internal")).body, "secret");
  EXPECT_EQ(call(sender, url("hook.internal")).body, "secret");
  EXPECT_EQ(target.connections(), 1);  // kept open
  EXPECT_EQ(call(sender, url("127.0.0.1")).kind, Kind::blocked);
  EXPECT_EQ(call(sender, url("evil.example")).kind, Kind::blocked);
  EXPECT_EQ(target.requests().size(), 2U);
}

TEST(WebhookSender, ARedirectIsAnAnswerAndIsNotFollowed) {
  HttpTarget canary(always(http_answer(200, "caught")));
  HttpTarget target(always(http_answer(302, "", fmt::format("Location: {}\r\n", canary.url()))));
  WebhookSender sender({.guard = everything()});
  EXPECT_EQ(call(sender, target.url()).status, 302);
  EXPECT_EQ(canary.connections(), 0);
}

TEST(WebhookSender, AProxyOfTheEnvironmentIsNotUsed) {
  HttpTarget proxy(always(http_answer(200, "proxy")));
  HttpTarget target(always(http_answer(200, "target")));
  for (const char* name : {"http_proxy", "ALL_PROXY", "all_proxy"}) setenv(name, proxy.url().c_str(), 1);
  WebhookSender sender({.guard = everything()});
  EXPECT_EQ(call(sender, target.url()).body, "target");
  EXPECT_EQ(proxy.connections(), 0);
  for (const char* name : {"http_proxy", "ALL_PROXY", "all_proxy"}) unsetenv(name);
}

// ---- Hostile targets
// --------------------------------------------------------------------------------------------------

TEST(WebhookSender, ATarPitCostsTheTimeoutAndNobodyElse) {
  HttpTarget silent([](const std::string&) { return HttpTarget::Reply{.hold = true}; });
  HttpTarget dripping(
      [](const std::string&) { return HttpTarget::Reply{.bytes = "HTTP/1.1 200 OK\r\nX-Slow: ", .drip = true}; });
  HttpTarget good(always(http_answer(200, "")));
  WebhookSender sender({.guard = everything()});
  std::promise<WebhookAnswer> first;
  std::promise<WebhookAnswer> second;
  const Duration begun = boot_now();
  sender.send({.url = silent.url(), .timeout = 1s}, [&](WebhookAnswer answer) { first.set_value(std::move(answer)); });
  sender.send({.url = dripping.url(), .timeout = 1s},
              [&](WebhookAnswer answer) { second.set_value(std::move(answer)); });
  EXPECT_EQ(call(sender, good.url()).status, 200);
  EXPECT_EQ(first.get_future().get().kind, Kind::timed_out);
  EXPECT_EQ(second.get_future().get().kind, Kind::timed_out);
  EXPECT_GE(boot_now() - begun, 900ms);
  EXPECT_LT(boot_now() - begun, 20s);
}

TEST(WebhookSender, ABigAnswerIsReadUpToTheCap) {
  HttpTarget target(always(http_answer(200, std::string(8 << 20, 'x'), "Content-Type: text/plain\r\n")));
  HttpTarget fits(always(http_answer(200, std::string(kAnswerBytesMax, 'x'))));
  WebhookSender sender({.guard = everything()});
  const WebhookAnswer answer = call(sender, target.url());
  EXPECT_EQ(answer.kind, Kind::answered);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body.size(), kAnswerBytesMax);
  EXPECT_FALSE(answer.body_is_whole);
  EXPECT_TRUE(call(sender, fits.url()).body_is_whole);
}

TEST(WebhookSender, ACompressedAnswerIsNotUnpacked) {
  const std::string packed = "\x1f\x8b\x08pretend";
  HttpTarget target(always(http_answer(200, packed, "Content-Encoding: gzip\r\n")));
  WebhookSender sender({.guard = everything()});
  EXPECT_EQ(call(sender, target.url()).body, packed);
}

TEST(WebhookSender, HeadersWithoutEndAreCutOff) {
  std::string endless = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 5000; ++i) endless += fmt::format("X-{}: {}\r\n", i, std::string(50, 'x'));
  HttpTarget target(always(endless + "\r\n"));
  WebhookSender sender({.guard = everything()});
  const WebhookAnswer answer = call(sender, target.url());
  EXPECT_EQ(answer.kind, Kind::unreachable);
  EXPECT_THAT(answer.error, ::testing::HasSubstr("headers"));
}

TEST(WebhookSender, NonsenseInsteadOfHttpIsNoAnswer) {
  for (const std::string_view bytes :
       {"\x16\x03\x01garbage\r\n\r\n", "220 mail.example ESMTP\r\n", "HTTP/9.9 x\r\n\r\n"}) {
    HttpTarget target(
        [&](const std::string&) { return HttpTarget::Reply{.bytes = std::string(bytes), .close = true}; });
    WebhookSender sender({.guard = everything()});
    EXPECT_EQ(call(sender, target.url()).kind, Kind::unreachable) << bytes;
  }
}

TEST(WebhookSender, AHostThatDoesNotAnswerIsLeftAloneForAWhile) {
  std::uint16_t dead_port = 0;
  {
    const HttpTarget gone(always(""));
    dead_port = gone.port();
  }
  HttpTarget good(always(http_answer(500, "")));
  WebhookSender sender({.guard = everything()});
  const std::string dead = fmt::format("http://127.0.0.1:{}/", dead_port);
  for (int i = 0; i < kBreakerFailures; ++i) EXPECT_EQ(call(sender, dead).kind, Kind::unreachable);
  const WebhookAnswer left_alone = call(sender, dead);
  EXPECT_EQ(left_alone.kind, Kind::breaker_open);
  EXPECT_GT(left_alone.wait, 0s);
  EXPECT_LE(left_alone.wait, kBreakerPause);
  // Another port is another host, and an answer is an answer, whatever it says.
  for (int i = 0; i < 2 * kBreakerFailures; ++i) EXPECT_EQ(call(sender, good.url()).kind, Kind::answered);
}

TEST(WebhookSender, WhatOneTenantMeetsIsNothingToTheOthers) {
  // One server: what acme calls hangs up, what other calls is answered.
  HttpTarget target([](const std::string& request) {
    if (request.starts_with("POST /hangs-up")) return HttpTarget::Reply{.close = true};
    return HttpTarget::Reply{.bytes = http_answer(200, "")};
  });
  WebhookSender sender({.guard = everything()});
  const auto call_as = [&](const std::string& tenant, const std::string& path) {
    std::promise<Kind> promise;
    sender.send({.tenant = tenant, .url = target.url(path), .body = "{}", .timeout = 20s},
                [&](const WebhookAnswer& answer) { promise.set_value(answer.kind); });
    return promise.get_future().get();
  };
  for (int i = 0; i < kBreakerFailures; ++i) EXPECT_EQ(call_as("acme", "/hangs-up"), Kind::unreachable);
  EXPECT_EQ(call_as("acme", "/hangs-up"), Kind::breaker_open);
  EXPECT_EQ(call_as("other", "/answers"), Kind::answered);
  EXPECT_EQ(call_as("acme", "/answers"), Kind::breaker_open) << "its own breaker is still open";
}

TEST(WebhookSender, BlockedCallsDoNotOpenTheBreaker) {
  WebhookSender sender({.guard = AddressGuard()});
  for (int i = 0; i < 2 * kBreakerFailures; ++i) EXPECT_EQ(call(sender, "http://127.0.0.1:9/").kind, Kind::blocked);
}

// ---- Stopping
// ---------------------------------------------------------------------------------------------------------

TEST(WebhookSender, ACallIsCutOffByItsNumberOrByItsOwnWord) {
  HttpTarget silent([](const std::string&) { return HttpTarget::Reply{.hold = true}; });
  WebhookSender sender({.guard = everything()});
  std::promise<WebhookAnswer> cancelled;
  const std::uint64_t id = sender.send({.url = silent.url(), .timeout = 60s},
                                       [&](WebhookAnswer answer) { cancelled.set_value(std::move(answer)); });
  std::atomic<bool> stop = false;
  std::promise<WebhookAnswer> stopped;
  sender.send({.url = silent.url(), .timeout = 60s, .stop = [&] { return stop.load(); }},
              [&](WebhookAnswer answer) { stopped.set_value(std::move(answer)); });
  ASSERT_TRUE(silent.wait_for_requests(2));
  sender.cancel(id);
  sender.cancel(id);
  sender.cancel(12345);
  EXPECT_EQ(cancelled.get_future().get().kind, Kind::cancelled);
  stop = true;
  EXPECT_EQ(stopped.get_future().get().kind, Kind::cancelled);
}

TEST(WebhookSender, AtItsEndEveryCallHasEnded) {
  HttpTarget silent([](const std::string&) { return HttpTarget::Reply{.hold = true}; });
  std::atomic<int> ended = 0;
  {
    WebhookSender sender({.guard = everything()});
    for (int i = 0; i < 10; ++i) {
      sender.send({.url = silent.url(), .timeout = 60s}, [&](const WebhookAnswer& answer) {
        EXPECT_EQ(answer.kind, Kind::cancelled);
        ++ended;
        if (ended <= 10) sender.send({.url = silent.url()}, [&](const WebhookAnswer&) { ++ended; });
      });
    }
    ASSERT_TRUE(silent.wait_for_requests(10));
  }
  EXPECT_EQ(ended, 20);
}

}  // namespace
}  // namespace carillon::server
