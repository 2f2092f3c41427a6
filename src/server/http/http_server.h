// HTTP/1.1 on one address: keep-alive, pipelining, parked answers, streams; bounded in every direction.
//
// One net thread parses and calls `dispatch`, which must not block: what takes long answers later, from its own thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "server/http/budget.h"
#include "server/http/message.h"
#include "server/http/reply.h"

namespace carillon::server {

struct HttpOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 7440;  // 0: any that is free
  std::size_t connections_max = 10'000;
  std::size_t head_max = std::size_t{16} * 1024;
  std::size_t body_max = std::size_t{1024} * 1024;           // unless `on_head` says otherwise
  std::size_t connections_each = 8'000;                      // without a key, from one address
  std::size_t pipelined_max = 16;                            // requests of one connection whose answers are not sent
  std::size_t unsent_max = std::size_t{1024} * 1024;         // bytes of a stream that its client does not read
  std::size_t pipelined_bytes_max = std::size_t{64} * 1024;  // unsent bytes, beyond which no next request is read
  Budget::Limits budget;                                     // of bodies and answers under way
  std::chrono::milliseconds head_time = std::chrono::seconds(10);   // from its first byte to its end
  std::chrono::milliseconds body_time = std::chrono::seconds(60);   // the whole body
  std::chrono::milliseconds idle_time = std::chrono::seconds(75);   // between requests
  std::chrono::milliseconds write_time = std::chrono::seconds(30);  // without a byte being taken
};

class HttpServer {
 public:
  using Dispatch = std::function<void(HttpRequest, Reply)>;
  // Asked when a head is complete, before its body is read: an answer refuses the request; `body_max` may be raised,
  // `payer` named, and `admitted` left for `dispatch`.
  using OnHead = std::function<std::optional<HttpResponse>(HttpRequest& head, std::size_t& body_max)>;

  HttpServer(HttpOptions options, Dispatch dispatch, OnHead on_head = {});
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // Stops, if that was not done.
  ~HttpServer();

  // Takes the address; whoever connects waits for `start`. The error names the address.
  Result<void> listen();
  // Listens, if that was not done; calls come from now on.
  Result<void> start();
  std::uint16_t port() const;
  // New connections are refused, idle ones closed, streams ended; answers that are due are given for `drain`, then all
  // is closed. Waits for that; may be called twice, but not from a call of the server.
  void stop(std::chrono::milliseconds drain);
  std::size_t connections() const;
  // Of bodies and answers: now, and at the most since this was asked before.
  struct UnderWay {
    std::size_t bytes;
    std::size_t peak;
  };
  UnderWay under_way() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace carillon::server
