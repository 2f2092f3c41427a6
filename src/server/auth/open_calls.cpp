#include "server/auth/open_calls.h"

#include <utility>

namespace carillon::server {

std::uint64_t OpenCalls::add(const std::string& key, std::function<void()> end) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t number = ++last_;
  open_[key].calls.emplace(number, std::move(end));
  keys_.emplace(number, key);
  return number;
}

void OpenCalls::remove(std::uint64_t number) {
  decltype(OfKey::calls)::node_type dropped;  // what it holds is let go without the lock
  const std::scoped_lock lock(mutex_);
  const auto key = keys_.extract(number);
  if (!key) return;
  const auto of_key = open_.find(key.mapped());
  if (of_key == open_.end()) return;
  dropped = of_key->second.calls.extract(number);
  if (of_key->second.empty()) open_.erase(of_key);
}

void OpenCalls::add_stream(const std::string& key, const std::shared_ptr<Stream>& stream) {
  const std::scoped_lock lock(mutex_);
  open_[key].streams.push_back(stream);
}

void OpenCalls::end(std::string_view key) {
  OfKey ended;
  {
    const std::scoped_lock lock(mutex_);
    const auto of_key = open_.find(key);
    if (of_key == open_.end()) return;
    ended = std::move(of_key->second);
    for (const auto& [number, end] : ended.calls) keys_.erase(number);
    open_.erase(of_key);
  }
  for (const auto& [number, end] : ended.calls) end();
  for (const std::weak_ptr<Stream>& stream : ended.streams) {
    if (const auto open = stream.lock()) open->end();
  }
}

void OpenCalls::end_unless(const std::function<bool(std::string_view key)>& stands) {
  std::vector<std::string> keys;
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [key, of_key] : open_) {
      std::erase_if(of_key.streams, [](const std::weak_ptr<Stream>& stream) { return stream.expired(); });
    }
    std::erase_if(open_, [](const auto& entry) { return entry.second.empty(); });
    for (const auto& [key, of_key] : open_) keys.push_back(key);
  }
  for (const std::string& key : keys) {
    if (!stands(key)) end(key);
  }
}

std::size_t OpenCalls::size() const {
  const std::scoped_lock lock(mutex_);
  std::size_t size = 0;
  for (const auto& [key, of_key] : open_) size += of_key.calls.size() + of_key.streams.size();
  return size;
}

}  // namespace carillon::server
