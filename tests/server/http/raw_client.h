// A client that sends exactly the bytes that it is given, and a server for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "server/http/http_server.h"
#include "support/signal.h"

namespace carillon::server::test {

struct RawResponse {
  int status = 0;
  std::string head;                            // with the status line
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // without chunks
};

class RawClient {
 public:
  explicit RawClient(std::uint16_t port);
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  RawClient(RawClient&& other) noexcept;
  RawClient& operator=(RawClient&&) = delete;
  ~RawClient();

  // False if the server does not take it.
  bool send(std::string_view bytes) const;
  // The next response; a status of 0 if there is none. `to_head` has no body, whatever its headers say.
  RawResponse response();
  RawResponse response_to_head();
  // The next line, without its end.
  std::string line();
  // The next bytes.
  std::string bytes(std::size_t count);
  // All that comes until the server closes; an empty text if it only closes.
  std::string rest();
  bool is_closed() { return rest().empty(); }

  void end_sending() const;
  void close();
  // Closes so that the server sees an error.
  void reset();

 private:
  RawResponse head();
  bool receive();

  int socket_ = -1;
  std::string buffer_;
};

// A request that asks for a path.
std::string get(std::string_view path, std::string_view more_headers = "");
std::string post(std::string_view path, std::string_view body);

using carillon::test::Signal;

// Replies that were not given yet.
class Parked {
 public:
  void add(HttpRequest request, Reply reply);
  // The next one that comes; null if none does.
  Reply take();
  // Whether so many are there; gives up long after any working server would have read them.
  bool wait(std::size_t count, std::chrono::milliseconds patience = std::chrono::seconds(60));
  void clear();

 private:
  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<Reply> replies_;
};

// Answers /echo with what it was sent, /size/N with N bytes, parks /park, drops /drop; else 404.
struct TestServer {
  explicit TestServer(HttpOptions options = {}, HttpServer::OnHead on_head = {});
  RawClient connect() const { return RawClient(server->port()); }

  Parked parked;
  std::function<void(HttpRequest, Reply)> on_other;
  std::unique_ptr<HttpServer> server;
};

// Whether it becomes true; gives up long after any working server would have made it so.
bool eventually(const std::function<bool()>& condition);

}  // namespace carillon::server::test
