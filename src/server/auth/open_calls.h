// Calls that last, by the key that made them: streams, and calls that are parked until something happens. They end with
// their key.
#pragma once

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
  OpenCalls() = default;
  OpenCalls(const OpenCalls&) = delete;
  OpenCalls& operator=(const OpenCalls&) = delete;
  ~OpenCalls() = default;

  // Any thread. `end` is called at most once, without a lock held; not once it is removed. The number is for `remove`.
  std::uint64_t add(const std::string& key, std::function<void()> end);
  void remove(std::uint64_t number);
  // One that is forgotten when nobody holds it any more.
  void add_stream(const std::string& key, const std::shared_ptr<Stream>& stream);

  // All of a key that is no more.
  void end(std::string_view key);
  // All of keys that do not stand any more. Asked once a key, however many calls it has open. To be called every
  // moment.
  void end_unless(const std::function<bool(std::string_view key)>& stands);
  std::size_t size() const;

 private:
  struct OfKey {
    std::unordered_map<std::uint64_t, std::function<void()>> calls;
    std::vector<std::weak_ptr<Stream>> streams;
    bool empty() const { return calls.empty() && streams.empty(); }
  };

  mutable std::mutex mutex_;
  std::map<std::string, OfKey, std::less<>> open_;
  std::unordered_map<std::uint64_t, std::string> keys_;  // of the calls
  std::uint64_t last_ = 0;
};

}  // namespace carillon::server
