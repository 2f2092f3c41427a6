// How a request is answered: at once or later, from any thread, once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/http/message.h"

namespace carillon::server {

// An answer that goes on: server-sent events.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;
  // Any thread. False: the client is gone, or does not read and has too much waiting; nothing more will be sent.
  virtual bool write(std::string text) = 0;
  // The whole was sent. One that is dropped ends as well.
  virtual void end() = 0;
  // Ends in the middle, so that the client notices: it has not read what it was sent.
  virtual void cut() = 0;
  // Nothing more will be sent: it has ended, or the client is gone.
  virtual bool is_over() const = 0;
  // Bytes that the client has not taken, of the stream and of answers before it.
  virtual std::size_t unsent() const = 0;
};

// What is known of who waits for an answer.
enum class ClientState : std::uint8_t {
  there,
  silent,  // it sends nothing more: it may be gone, or only wait
  gone,
};

class ReplySink {
 public:
  ReplySink() = default;
  ReplySink(const ReplySink&) = delete;
  ReplySink& operator=(const ReplySink&) = delete;
  // One that was dropped without an answer answers 500.
  virtual ~ReplySink() = default;

  virtual void send(HttpResponse response) = 0;
  // What makes a response of values that were handed over. It owns them, and is called once.
  using Make = std::function<HttpResponse()>;
  // Any thread, and quick: the response is made by the thread that sends it. `bytes` is about how large the values are,
  // which stay until then. It is made also if the client is gone meanwhile: others may count it.
  virtual void send_made(Make make, std::size_t /*bytes*/) { send(make()); }
  // The head of the response; its body is ignored.
  virtual std::shared_ptr<Stream> stream(HttpResponse head) = 0;
  // Called at most once, on the net thread, if the client goes away or the server stops before the answer, or before
  // the end of a stream: who parks a call takes it back. Not called at all once the server is gone.
  virtual void on_gone(std::function<void()> gone) = 0;
  // Any thread. Work that has waited for long asks before it begins.
  virtual ClientState client() const { return ClientState::there; }
};

using Reply = std::shared_ptr<ReplySink>;

}  // namespace carillon::server
