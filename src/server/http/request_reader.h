// From the bytes of a connection to requests, or to the reason why there are none.
//
//   reader.append(bytes);
//   while (true) {
//     switch (reader.next()) {
//       case RequestReader::Step::need_more: return;
//       case RequestReader::Step::head: reader.allow_body(body_max); break;   // reader.head() can be looked at
//       case RequestReader::Step::request: handle(reader.take()); break;
//       case RequestReader::Step::refused: answer(reader.refusal()); return;  // nothing more can be read
//     }
//   }
//
// Strict on purpose: whatever two programs could read in two ways is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace carillon::server {

// A request that is not served, and why.
struct Refusal {
  int status = 400;
  std::string code = "invalid_request";
  std::string message;
};

class RequestReader {
 public:
  enum class Step : std::uint8_t { need_more, head, request, refused };
  enum class Phase : std::uint8_t { between, head, body };  // between: no byte of a request has come

  explicit RequestReader(std::size_t head_max);
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;
  ~RequestReader();

  void append(std::string_view bytes);
  Step next();

  // After `head`, until the body is read: the request without it.
  HttpRequest& head();
  // After `head`, before `next`: how large its body may be.
  void allow_body(std::size_t body_max);
  bool has_body() const;
  // What the head says of it; nothing if it comes in chunks.
  std::optional<std::uint64_t> body_length() const;
  // Whether the client waits for a word before it sends the body.
  bool expects_continue() const;
  bool keep_alive() const;
  bool is_http_1_0() const;

  // After `request`.
  HttpRequest take();
  // Nothing more will be read: lets go of all that has come. `refusal` stays.
  void drop();
  // After `refused`.
  const Refusal& refusal() const;

  Phase phase() const;
  // Bytes that were appended and not yet made into anything.
  std::size_t unread() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace carillon::server
