#include "engine/pulls/name_set.h"

#include <algorithm>
#include <utility>

namespace carillon {

NameSet::NameSet(std::initializer_list<std::string_view> names) { pack(names); }

NameSet::NameSet(const std::vector<std::string>& names) { pack({names.begin(), names.end()}); }

void NameSet::pack(std::vector<std::string_view> names) {
  if (names.empty()) return;
  std::ranges::sort(names);
  const auto twice = std::ranges::unique(names);
  names.erase(twice.begin(), twice.end());
  std::size_t bytes = 0;
  for (const std::string_view name : names) bytes += name.size();
  auto packed = std::make_shared<Packed>();
  packed->text.reserve(bytes);
  packed->ends.reserve(names.size());
  for (const std::string_view name : names) {
    packed->text += name;
    packed->ends.push_back(static_cast<std::uint32_t>(packed->text.size()));
  }
  packed_ = std::move(packed);
}

std::string_view NameSet::Packed::name(std::size_t index) const {
  const std::size_t begin = index == 0 ? 0 : ends[index - 1];
  return std::string_view(text).substr(begin, ends[index] - begin);
}

bool NameSet::contains(std::string_view name) const {
  std::size_t low = 0;
  std::size_t high = size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const auto order = packed_->name(middle) <=> name;
    if (order == 0) return true;
    (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
  }
  return false;
}

std::size_t NameSet::bytes() const {
  return packed_ ? sizeof(Packed) + packed_->text.capacity() + packed_->ends.capacity() * sizeof(std::uint32_t) : 0;
}

std::strong_ordering operator<=>(const NameSet& a, const NameSet& b) {
  if (a.packed_ == b.packed_) return std::strong_ordering::equal;
  if (!a.packed_ || !b.packed_) return a.size() <=> b.size();
  if (const auto order = a.packed_->text <=> b.packed_->text; order != 0) return order;
  return a.packed_->ends <=> b.packed_->ends;
}

}  // namespace carillon
