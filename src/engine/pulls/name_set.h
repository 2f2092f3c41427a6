// Names, each once, in order. They stand in one text that copies share: a set costs about what it took to name it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace carillon {

class NameSet {
 public:
  NameSet() = default;
  NameSet(std::initializer_list<std::string_view> names);
  NameSet(const std::vector<std::string>& names);  // NOLINT(google-explicit-constructor): a list of names is one

  bool empty() const { return !packed_; }
  std::size_t size() const { return packed_ ? packed_->ends.size() : 0; }
  bool contains(std::string_view name) const;
  std::string_view operator[](std::size_t index) const { return packed_->name(index); }
  // As a filter: no names means any.
  bool is_any_or_has(std::string_view name) const { return empty() || contains(name); }
  // That it takes, if nobody shares it.
  std::size_t bytes() const;

  // By some order of their own.
  friend bool operator==(const NameSet& a, const NameSet& b) { return (a <=> b) == 0; }
  friend std::strong_ordering operator<=>(const NameSet& a, const NameSet& b);

 private:
  struct Packed {
    std::string text;
    std::vector<std::uint32_t> ends;  // of each name, in the text
    std::string_view name(std::size_t index) const;
  };

  void pack(std::vector<std::string_view> names);

  std::shared_ptr<const Packed> packed_;  // null: no names
};

}  // namespace carillon
