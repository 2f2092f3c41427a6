// A client's side of HTTP on loopback, as thin as a benchmark needs it: what it costs is taken from the server's share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace carillon {

struct LoopbackTarget {
  std::uint16_t port = 0;
  std::string key;  // of the API
};

// A whole request with the key of the target, kept alive. No body: pass "".
std::string http_request(const LoopbackTarget& target, std::string_view method, std::string_view path,
                         std::string_view body);

struct HttpAnswer {
  int status = 0;
  std::string_view body;
  std::size_t size = 0;  // of the whole, head included
};

// The answer that `bytes` begin with, if it is there as a whole. Only answers of a known length.
std::optional<HttpAnswer> first_answer(std::string_view bytes);

// Ends the benchmark, with what the server said, unless the status is the one that is wanted.
void expect_status(const HttpAnswer& answer, int status, std::string_view asked);

// A file descriptor that is closed with it.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int number() const { return number_; }

 private:
  int number_;
};

enum class Blocks : std::uint8_t { yes, no };
// Connected, without delay of small packets.
Descriptor connect_loopback(std::uint16_t port, Blocks blocks);

// One keep-alive connection that asks and waits.
class LoopbackClient {
 public:
  explicit LoopbackClient(LoopbackTarget target);
  LoopbackClient(const LoopbackClient&) = delete;
  LoopbackClient& operator=(const LoopbackClient&) = delete;
  ~LoopbackClient() = default;

  // The body of the answer, until the next call. Any other status ends the benchmark.
  std::string_view post(std::string_view path, std::string_view body, int status);
  std::string_view get(std::string_view path);
  // A request that was made before.
  std::string_view ask(std::string_view request, int status);

 private:
  const LoopbackTarget target_;
  const Descriptor socket_;
  std::string received_;
};

}  // namespace carillon
