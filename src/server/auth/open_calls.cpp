#include "server/auth/open_calls.h"

#include <utility>

namespace carillon::server {

std::uint64_t OpenCalls::add(const Owner& owner, std::function<void()> end) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t number = ++last_;
  open_[owner].calls.emplace(number, std::move(end));
  owners_.emplace(number, owner);
  return number;
}

void OpenCalls::remove(std::uint64_t number) {
  decltype(OfOwner::calls)::node_type dropped;  // what it holds is let go without the lock
  const std::scoped_lock lock(mutex_);
  const auto owner = owners_.extract(number);
  if (!owner) return;
  const auto open = open_.find(owner.mapped());
  if (open == open_.end()) return;
  dropped = open->second.calls.extract(number);
  if (open->second.empty()) open_.erase(open);
}

void OpenCalls::add_stream(const Owner& owner, const std::shared_ptr<Stream>& stream) {
  const std::scoped_lock lock(mutex_);
  open_[owner].streams.push_back(stream);
}

void OpenCalls::end(std::string_view key) {
  end_where([key](const Owner& owner) { return owner.key == key; });
}

void OpenCalls::end_session(std::string_view session) {
  end_where([session](const Owner& owner) { return owner.session == session; });
}

void OpenCalls::end_of(const Owner& owner) {
  OfOwner ended;
  {
    const std::scoped_lock lock(mutex_);
    const auto open = open_.find(owner);
    if (open == open_.end()) return;
    ended = std::move(open->second);
    for (const auto& [number, end] : ended.calls) owners_.erase(number);
    open_.erase(open);
  }
  for (const auto& [number, end] : ended.calls) end();
  for (const std::weak_ptr<Stream>& stream : ended.streams) {
    if (const auto open = stream.lock()) open->end();
  }
}

void OpenCalls::end_where(const std::function<bool(const Owner& owner)>& which) {
  std::vector<Owner> owners;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [owner, open] : open_) owners.push_back(owner);
  }
  for (const Owner& owner : owners) {
    if (which(owner)) end_of(owner);
  }
}

void OpenCalls::end_unless(const std::function<bool(const Owner& owner)>& stands) {
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [owner, open] : open_) {
      std::erase_if(open.streams, [](const std::weak_ptr<Stream>& stream) { return stream.expired(); });
    }
    std::erase_if(open_, [](const auto& entry) { return entry.second.empty(); });
  }
  end_where([&](const Owner& owner) { return !stands(owner); });
}

std::size_t OpenCalls::size() const {
  const std::scoped_lock lock(mutex_);
  std::size_t size = 0;
  for (const auto& [owner, open] : open_) size += open.calls.size() + open.streams.size();
  return size;
}

}  // namespace carillon::server
