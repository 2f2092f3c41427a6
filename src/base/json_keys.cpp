#include "base/json_keys.h"

#include <algorithm>
#include <span>
#include <utility>

namespace carillon {

namespace {

// Up to this many members a key is compared with its predecessors one by one; beyond, they are sorted at the end.
constexpr std::size_t kLinearKeysMax = 16;

// Room for the members of a job.
constexpr std::size_t kKeysUsual = 8;

}  // namespace

bool JsonKeys::add(const Mark& mark, std::size_t offset, std::string_view written, std::optional<std::string> decoded) {
  Key key{.offset = static_cast<std::uint32_t>(offset)};
  if (decoded) {
    key.decoded = static_cast<std::uint32_t>(decoded_.size());
    decoded_.push_back(*std::move(decoded));
  }
  if (keys_.capacity() == 0) keys_.reserve(kKeysUsual);
  const std::string_view says = key.decoded == kNone ? written : std::string_view(decoded_.back());
  key.prefix = prefix_of(says);
  if (keys_.size() - mark.keys < kLinearKeysMax) {
    for (std::size_t i = mark.keys; i < keys_.size(); ++i) {
      if (keys_[i].prefix == key.prefix && text_of(keys_[i]) == says) return false;
    }
  }
  keys_.push_back(key);
  return true;
}

std::optional<std::size_t> JsonKeys::repeated(const Mark& mark) {
  if (keys_.size() - mark.keys <= kLinearKeysMax) return std::nullopt;
  const auto keys = std::span(keys_).subspan(mark.keys);
  std::ranges::sort(keys, [this](const Key& a, const Key& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const int order = text_of(a).compare(text_of(b));
    return order != 0 ? order < 0 : a.offset < b.offset;
  });
  std::optional<std::size_t> first;
  for (std::size_t i = 1; i < keys.size(); ++i) {
    if (keys[i].prefix != keys[i - 1].prefix || text_of(keys[i]) != text_of(keys[i - 1])) continue;
    if (!first || keys[i].offset < *first) first = keys[i].offset;
  }
  return first;
}

std::uint64_t JsonKeys::prefix_of(std::string_view text) {
  std::uint64_t prefix = 0;
  for (std::size_t i = 0; i < sizeof prefix; ++i) {
    prefix = (prefix << 8U) | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  }
  return prefix;
}

std::string_view JsonKeys::text_of(const Key& key) const {
  if (key.decoded != kNone) return decoded_[key.decoded];
  // It has no escapes: the next quote is its end.
  const std::size_t begin = key.offset + 1;
  return text_.substr(begin, text_.find('"', begin) - begin);
}

}  // namespace carillon
