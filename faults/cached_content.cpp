#include "faults/cached_content.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <utility>

namespace carillon {

namespace {

// Of the operating system's cache.
constexpr std::size_t kSectorsPerPage = 8;

}  // namespace

std::size_t CachedContent::Change::size_after(std::size_t size) const {
  return kind == Kind::truncate ? offset : std::max(size, end());
}

std::size_t CachedContent::read(std::size_t offset, std::span<char> into) const {
  if (offset >= newest_.size()) return 0;
  const std::size_t count = std::min(into.size(), newest_.size() - offset);
  std::copy_n(newest_.data() + offset, count, into.data());
  return count;
}

void CachedContent::write(std::size_t offset, std::span<const char> bytes) {
  if (bytes.empty()) return;
  apply({.kind = Change::Kind::write,
         .offset = offset,
         .bytes = std::vector<char>(bytes.begin(), bytes.end()),
         .size_before = newest_.size(),
         .before = {}});
}

void CachedContent::truncate(std::size_t size) {
  apply({.kind = Change::Kind::truncate, .offset = size, .bytes = {}, .size_before = newest_.size(), .before = {}});
}

void CachedContent::sync() { unsynced_.clear(); }

void CachedContent::apply(Change change) {
  const auto place = [&](std::size_t offset) { return newest_.begin() + static_cast<std::ptrdiff_t>(offset); };
  const std::size_t known = newest_.size();
  const std::size_t from = std::min(change.offset, known);
  if (change.kind == Change::Kind::truncate) {
    change.before.assign(place(from), newest_.end());
    newest_.resize(change.offset);
  } else {
    const std::size_t to = std::min(change.end(), known);
    change.before.assign(place(from), place(to));
    if (change.offset > known) newest_.resize(change.offset);
    const auto over = static_cast<std::ptrdiff_t>(to - from);
    std::copy_n(change.bytes.begin(), over, place(change.offset));
    newest_.insert(newest_.end(), change.bytes.begin() + over, change.bytes.end());
  }
  unsynced_.push_back(std::move(change));
}

std::vector<char> CachedContent::durable() const {
  std::vector<char> content = newest_;
  for (const Change& change : std::views::reverse(unsynced_)) {
    content.resize(change.size_before);
    std::ranges::copy(change.before,
                      content.begin() + static_cast<std::ptrdiff_t>(std::min(change.offset, change.size_before)));
  }
  return content;
}

std::vector<char> CachedContent::after_power_failure(Survivors survivors, SeededRandom& random) const {
  if (unsynced_.empty()) return newest_;
  return content_at(progress(survivors, random));
}

std::size_t CachedContent::extent() const {
  std::size_t extent = durable_size();
  for (const Change& change : unsynced_) extent = std::max(extent, change.size_after(extent));
  return extent;
}

CachedContent::Progress CachedContent::progress(Survivors survivors, SeededRandom& random) const {
  const std::size_t sectors = (extent() + kSectorBytes - 1) / kSectorBytes;
  const std::size_t changes = unsynced_.size();
  const auto uniform = [&](std::size_t count) { return Progress{std::vector<std::size_t>(sectors, count), count}; };
  const auto any_moment = [&] { return static_cast<std::size_t>(random.below(changes + 1)); };

  if (survivors == Survivors::none) return uniform(0);
  if (survivors == Survivors::all) return uniform(changes);
  switch (random.below(8)) {
    case 0:
    case 1: return uniform(0);
    case 2: return uniform(changes);
    case 3:
    case 4:
    case 5: {
      const std::size_t whole = any_moment();
      Progress prefix = uniform(whole);
      if (whole == changes) return prefix;
      const Change& torn = unsynced_[whole];
      prefix.of_size += random.below(2);
      for (std::size_t at = torn.offset / kSectorBytes; at * kSectorBytes < torn.end(); ++at) {
        prefix.of_sector[at] += random.below(2);
      }
      return prefix;
    }
    default: {
      // An operating system writes out whole pages, the disk beneath it sectors.
      const std::size_t together = random.coin() ? kSectorsPerPage : 1;
      Progress scattered = uniform(0);
      scattered.of_size = any_moment();
      for (std::size_t at = 0; at < sectors; ++at) {
        scattered.of_sector[at] = at % together == 0 ? any_moment() : scattered.of_sector[at - 1];
      }
      return scattered;
    }
  }
}

std::vector<char> CachedContent::content_at(const Progress& progress) const {
  std::vector<char> content = durable();
  content.resize(extent());
  std::size_t size = durable_size();
  std::size_t room_until = std::numeric_limits<std::size_t>::max();  // the lowest cut that did not happen
  for (std::size_t i = 0; i < unsynced_.size(); ++i) {
    const Change& change = unsynced_[i];
    if (i < progress.of_size) size = change.size_after(size);
    if (change.kind == Change::Kind::truncate) {
      if (i < progress.of_size) {
        std::fill(content.begin() + static_cast<std::ptrdiff_t>(change.offset), content.end(), '\0');
      } else {
        room_until = std::min(room_until, change.offset);
      }
      continue;
    }
    const std::size_t end = std::min(change.end(), room_until);
    for (std::size_t at = change.offset; at < end;) {
      const std::size_t sector = at / kSectorBytes;
      const std::size_t next = std::min(end, (sector + 1) * kSectorBytes);
      if (i < progress.of_sector[sector]) {
        std::copy_n(change.bytes.data() + (at - change.offset), next - at, content.data() + at);
      }
      at = next;
    }
  }
  content.resize(size);
  return content;
}

}  // namespace carillon
