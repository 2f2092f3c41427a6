#include "base/json_check.h"

#include <algorithm>
#include <array>

#include "base/json.h"

namespace carillon {

namespace {

// Says yes only to what is surely valid: ASCII without escapes, few members an object. Everything else is left to the
// parser. Never allocates.
class SimpleScan {
 public:
  explicit SimpleScan(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool document() {
    if (!value(1)) return false;
    skip_space();
    return at_ == end_;
  }

 private:
  static constexpr std::size_t kMembersMax = 16;

  char peek() const { return at_ == end_ ? '\0' : *at_; }
  bool eat(char expected) {
    if (peek() != expected || at_ == end_) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool word(std::string_view expected) {
    if (static_cast<std::size_t>(end_ - at_) < expected.size()) return false;
    if (std::string_view(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }
  bool digits() {
    const char* const begin = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != begin;
  }
  bool number() {
    eat('-');
    if (!eat('0') && !digits()) return false;
    if (eat('.') && !digits()) return false;
    if (eat('e') || eat('E')) {
      if (!eat('+')) eat('-');
      return digits();
    }
    return true;
  }
  // Without its quotes.
  bool string(std::string_view& text) {
    if (!eat('"')) return false;
    const char* const begin = at_;
    while (at_ != end_ && *at_ != '"') {
      if (*at_ < 0x20 || *at_ == '\\') return false;  // also bytes above 0x7F, which are negative
      ++at_;
    }
    text = std::string_view(begin, at_);
    return eat('"');
  }
  bool array(int depth) {
    skip_space();
    if (eat(']')) return true;
    while (value(depth + 1)) {
      skip_space();
      if (eat(']')) return true;
      if (!eat(',')) return false;
    }
    return false;
  }
  bool object(int depth) {
    std::array<std::string_view, kMembersMax> names;
    std::size_t count = 0;
    skip_space();
    if (eat('}')) return true;
    while (count < kMembersMax) {
      skip_space();
      std::string_view name;
      if (!string(name)) return false;
      if (std::find(names.begin(), names.begin() + count, name) != names.begin() + count) return false;
      names[count++] = name;
      skip_space();
      if (!eat(':') || !value(depth + 1)) return false;
      skip_space();
      if (eat('}')) return true;
      if (!eat(',')) return false;
    }
    return false;
  }
  bool value(int depth) {
    skip_space();
    std::string_view text;
    switch (peek()) {
      case '{': ++at_; return depth <= kJsonDepthMax && object(depth);
      case '[': ++at_; return depth <= kJsonDepthMax && array(depth);
      case '"': return string(text);
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return number();
    }
  }

  const char* at_;
  const char* end_;
};

static_assert(static_cast<char>(0x80) < 0, "SimpleScan takes bytes above 0x7F for negative");

}  // namespace

Result<void> check_json(std::string_view text) {
  if (SimpleScan(text).document()) return {};
  return judge_json(text);
}

}  // namespace carillon
