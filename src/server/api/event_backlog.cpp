#include "server/api/event_backlog.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace carillon::server {

namespace {

std::size_t bytes_of(const EventBacklog::Told& told) { return sizeof(told) + told.text.size() + told.tenant.size(); }

}  // namespace

void EventBacklog::add(Told told) {
  bytes_ += bytes_of(told);
  told_.push_back(std::move(told));
  while (bytes_ > bytes_max_) forget_first();
}

void EventBacklog::forget_before(std::uint64_t place) {
  CHECK(place <= end());
  while (first_ < place) forget_first();
}

void EventBacklog::forget_first() {
  bytes_ -= bytes_of(told_.front());
  told_.pop_front();
  ++first_;
}

EventBacklog::Piece EventBacklog::read(std::uint64_t from, const Bounds& bounds, const MaySee& may_see) const {
  CHECK(from >= first_ && from <= end());
  Piece piece{.text = {}, .from = from, .to = from};
  const std::uint64_t last = std::min<std::uint64_t>(end(), from + bounds.entries);
  for (; piece.to < last; ++piece.to) {
    const Told& told = told_[piece.to - first_];
    if (!told.to_all && !may_see(told.tenant)) continue;
    if (!piece.text.empty() && piece.text.size() + told.text.size() > bounds.bytes) break;
    piece.text += told.text;
  }
  return piece;
}

}  // namespace carillon::server
