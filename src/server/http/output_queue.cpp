#include "server/http/output_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace carillon::server {

namespace {

constexpr std::size_t kJoinedMax = std::size_t{16} * 1024;

}  // namespace

void OutputQueue::add(std::string bytes, std::size_t counted) {
  if (bytes.empty()) return;
  bytes_ += bytes.size();
  if (!pieces_.empty() && pieces_.back().bytes.size() + bytes.size() <= kJoinedMax) {
    pieces_.back().bytes.append(bytes);
    pieces_.back().counted += counted;
    return;
  }
  pieces_.push_back({.bytes = std::move(bytes), .counted = counted});
}

std::size_t OutputQueue::gather(std::span<std::string_view> views) const {
  const std::size_t count = std::min(views.size(), pieces_.size());
  for (std::size_t i = 0; i < count; ++i) views[i] = pieces_[i].bytes;
  if (count > 0) views[0].remove_prefix(front_sent_);
  return count;
}

std::size_t OutputQueue::sent(std::size_t bytes) {
  std::size_t counted = 0;
  front_sent_ += bytes;
  bytes_ -= bytes;
  while (!pieces_.empty() && front_sent_ >= pieces_.front().bytes.size()) {
    front_sent_ -= pieces_.front().bytes.size();
    counted += pieces_.front().counted;
    pieces_.pop_front();
  }
  CHECK(!pieces_.empty() || front_sent_ == 0);
  return counted;
}

}  // namespace carillon::server
