// Calls that last, by who made them: streams, and calls that are parked until something happens. They end with their
// key, and with their session.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/http/reply.h"

namespace carillon::server {

class OpenCalls {
 public:
  struct Owner {
    std::string key;      // its id
    std::string session;  // its id; "": with the key itself
    friend auto operator<=>(const Owner&, const Owner&) = default;
  };

  OpenCalls() = default;
  OpenCalls(const OpenCalls&) = delete;
  OpenCalls& operator=(const OpenCalls&) = delete;
  ~OpenCalls() = default;

  // Any thread. `end` is called at most once, without a lock held; not once it is removed. The number is for `remove`.
  std::uint64_t add(const Owner& owner, std::function<void()> end);
  void remove(std::uint64_t number);
  // One that is forgotten when nobody holds it any more.
  void add_stream(const Owner& owner, const std::shared_ptr<Stream>& stream);

  // All of a key that is no more.
  void end(std::string_view key);
  // All of a session that was signed out.
  void end_session(std::string_view session);
  // All of those that do not stand any more. Asked once an owner, however many calls it has open. To be called every
  // moment.
  void end_unless(const std::function<bool(const Owner& owner)>& stands);
  std::size_t size() const;

 private:
  struct OfOwner {
    std::unordered_map<std::uint64_t, std::function<void()>> calls;
    std::vector<std::weak_ptr<Stream>> streams;
    bool empty() const { return calls.empty() && streams.empty(); }
  };

  void end_of(const Owner& owner);
  void end_where(const std::function<bool(const Owner& owner)>& which);

  mutable std::mutex mutex_;
  std::map<Owner, OfOwner> open_;
  std::unordered_map<std::uint64_t, Owner> owners_;  // of the calls
  std::uint64_t last_ = 0;
};

}  // namespace carillon::server
