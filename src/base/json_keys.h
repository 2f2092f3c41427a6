// The keys of the objects that are being read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace carillon {

// Those of inner objects stand behind those of outer ones. A key that was given twice is found in little memory, and in
// time that nobody can make long by his choice of keys.
class JsonKeys {
 public:
  explicit JsonKeys(std::string_view text) : text_(text) {}

  struct Mark {
    std::size_t keys;
    std::size_t decoded;
  };
  Mark begin() const { return {.keys = keys_.size(), .decoded = decoded_.size()}; }
  void end(const Mark& mark) {
    keys_.resize(mark.keys);
    decoded_.resize(mark.decoded);
  }

  // The key that begins at `offset` with its quote. `decoded` is what it says, if that is not what is written.
  // False: one of the first few is the same.
  bool add(const Mark& mark, std::size_t offset, std::string_view written, std::optional<std::string> decoded);

  // At the end of the object: where the first key stands that had been given before.
  std::optional<std::size_t> repeated(const Mark& mark);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Key {
    std::uint64_t prefix = 0;  // the first eight bytes, in the order of the text
    std::uint32_t offset = 0;
    std::uint32_t decoded = kNone;  // its number in `decoded_`
  };

  static std::uint64_t prefix_of(std::string_view text);
  std::string_view text_of(const Key& key) const;

  std::string_view text_;
  std::vector<Key> keys_;
  std::vector<std::string> decoded_;
};

}  // namespace carillon
