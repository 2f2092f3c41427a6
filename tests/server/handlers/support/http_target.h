// What a webhook calls: an HTTP server on loopback that does as the test says, and keeps what it heard.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace carillon::test {

class HttpTarget {
 public:
  struct Reply {
    std::string bytes;   // all of the answer, as it goes over the wire
    bool hold = false;   // then nothing more, and the connection stays open
    bool drip = false;   // a byte every 20 ms, without an end
    bool close = false;  // after the answer
  };
  using Answer = std::function<Reply(const std::string& request)>;

  explicit HttpTarget(Answer answer, const std::string& address = "127.0.0.1", std::uint16_t port = 0);
  HttpTarget(const HttpTarget&) = delete;
  HttpTarget& operator=(const HttpTarget&) = delete;
  ~HttpTarget();

  std::uint16_t port() const { return port_; }
  std::string url(std::string_view path = "/") const;
  int connections() const { return connections_; }
  std::vector<std::string> requests() const;
  // Until so many requests have come. False: they do not.
  bool wait_for_requests(std::size_t count);

 private:
  void accept_all();
  void serve(int fd);

  Answer answer_;
  int fd_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> connections_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable heard_;
  std::vector<std::string> requests_;
  std::list<std::thread> serving_;
  std::thread accepting_;
};

// "HTTP/1.1 200 OK" with its length, and further header lines that end in CR LF.
std::string http_answer(int status, std::string_view body, std::string_view headers = "");

// The value of a header of a request; "" without.
std::string header_of(const std::string& request, std::string_view name);
std::string body_of(const std::string& request);

}  // namespace carillon::test
