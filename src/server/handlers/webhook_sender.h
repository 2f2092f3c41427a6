// Calls over HTTP, many at once, on one thread of its own.
//
// Every connection is vetted where it is made, by the address that is connected to: it does not matter what a name
// resolved to before. A connection that is used again is vetted again. There are no redirects, no proxy, no cookies and
// no decompression; an answer is read up to 64 KiB.
//
// The breaker: a host (with its port) that has not answered five calls of a tenant in a row is left alone by that
// tenant for 30 s. Then one call tries it; if that gets no answer either, another 30 s pass. Any answer, whatever its
// status, closes the breaker. What one tenant meets is nothing to the others: its path may hang where theirs do not.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/time/duration.h"
#include "net/address_guard.h"
#include "server/handlers/webhook_answer.h"

namespace carillon::server {

inline constexpr std::size_t kAnswerBytesMax = 64 << 10;
inline constexpr int kBreakerFailures = 5;
inline constexpr Duration kBreakerPause = std::chrono::seconds(30);

struct WebhookHeader {
  std::string name;
  std::string value;
};

struct WebhookCall {
  std::string tenant;  // whose it is
  std::string url;
  std::vector<WebhookHeader> headers;
  std::string body;
  Duration timeout = std::chrono::seconds(30);  // of all of it, name lookup included
  std::function<bool()> stop;                   // asked several times a second: whether to cut it off
};

class WebhookSender {
 public:
  struct Options {
    AddressGuard guard;
    std::string ca_file;  // "": the system's
    // What a name led to that must not be reached: for the operator, never for whoever chose the name. On the sender's
    // thread.
    std::function<void(const std::string& host, const std::string& where)> on_blocked;
    // Instead of looking names up: the addresses of a host. For tests.
    std::function<std::vector<std::string>(const std::string& host)> resolve;
  };
  using Done = std::function<void(WebhookAnswer)>;

  explicit WebhookSender(Options options);
  WebhookSender(const WebhookSender&) = delete;
  WebhookSender& operator=(const WebhookSender&) = delete;
  // Cuts off what is under way; every `done` has been called when it returns.
  ~WebhookSender();

  // Calls `done` once, on the sender's thread. The number is for `cancel`.
  std::uint64_t send(WebhookCall call, Done done);
  // Cut off, unless it has ended. May come from any thread.
  void cancel(std::uint64_t id);
  // Calls that begin from now on are vetted by this one. Any thread.
  void set_guard(AddressGuard guard);
  // Runs it on the sender's thread, in order. It must not block.
  void post(std::function<void()> task);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace carillon::server
