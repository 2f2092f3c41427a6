#include "base/json_hash.h"

#include <cstring>
#include <string>

#include "base/hash.h"
#include "base/json.h"
#include "base/utf8.h"

namespace carillon {

namespace {

// What is hashed. Stored hashes hang on these numbers.
enum : std::uint64_t { kPlainValue = 1, kStringValue, kArrayValue, kObjectValue, kItem, kMember };

// Reads what was checked before. It judges nothing, but goes no further than the end and no deeper than is allowed,
// and takes a step with every turn: any text is safe.
class HashScan {
 public:
  explicit HashScan(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  std::uint64_t value(int depth) {
    skip_space();
    if (at_ == end_) return 0;
    switch (*at_) {
      case '{': return object(depth);
      case '[': return array(depth);
      case '"': return string();
      default: return plain();
    }
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
  void skip_space() {
    while (at_ != end_ && is_space(*at_)) ++at_;
  }
  bool eat(char expected) {
    skip_space();
    if (at_ == end_ || *at_ != expected) return false;
    ++at_;
    return true;
  }
  const char* find(char c, const char* end) const {
    return static_cast<const char*>(std::memchr(at_, c, static_cast<std::size_t>(end - at_)));
  }

  // A number or a word: all that stands before what may follow it.
  std::uint64_t plain() {
    const char* const begin = at_;
    while (at_ != end_ && !is_space(*at_) && *at_ != ',' && *at_ != ']' && *at_ != '}') ++at_;
    return stable_hash(kPlainValue, std::string_view(begin, at_));
  }

  std::uint64_t array(int depth) {
    ++at_;
    std::uint64_t all = 0;
    std::uint64_t count = 0;
    if (!enter(depth) || eat(']')) return stable_hash(kArrayValue, {count, all});
    do {
      all = stable_hash(kItem, {all, value(depth + 1)});
      ++count;
    } while (eat(','));
    eat(']');
    return stable_hash(kArrayValue, {count, all});
  }

  // The sum is the same in any order, and no name is there twice.
  std::uint64_t object(int depth) {
    ++at_;
    std::uint64_t all = 0;
    std::uint64_t count = 0;
    if (!enter(depth) || eat('}')) return stable_hash(kObjectValue, {count, all});
    do {
      skip_space();
      if (at_ == end_ || *at_ != '"') break;
      const std::uint64_t name = string();
      eat(':');
      all += stable_hash(kMember, {name, value(depth + 1)});
      ++count;
    } while (eat(','));
    eat('}');
    return stable_hash(kObjectValue, {count, all});
  }

  bool enter(int depth) {
    if (depth <= kJsonDepthMax) return true;
    at_ = end_;
    return false;
  }

  std::uint64_t string() {
    const char* const begin = ++at_;
    const char* const quote = find('"', end_);
    const char* const stop = quote == nullptr ? end_ : quote;
    if (find('\\', stop) != nullptr) return escaped();
    at_ = quote == nullptr ? end_ : quote + 1;
    return stable_hash(kStringValue, std::string_view(begin, stop));
  }

  std::uint64_t escaped() {
    says_.clear();
    while (at_ != end_ && *at_ != '"') {
      const char c = *at_++;
      if (c == '\\' && at_ != end_) {
        escape(*at_++);
      } else {
        says_ += c;
      }
    }
    if (at_ != end_) ++at_;
    return stable_hash(kStringValue, says_);
  }

  void escape(char kind) {
    switch (kind) {
      case 'b': says_ += '\b'; return;
      case 'f': says_ += '\f'; return;
      case 'n': says_ += '\n'; return;
      case 'r': says_ += '\r'; return;
      case 't': says_ += '\t'; return;
      case 'u': break;
      default: says_ += kind; return;
    }
    char32_t code = hex4();
    if (code >= 0xD800 && code <= 0xDBFF && end_ - at_ >= 2 && at_[0] == '\\' && at_[1] == 'u') {
      at_ += 2;
      code = 0x10000 + ((code - 0xD800) << 10U) + (hex4() - 0xDC00);
    }
    append_utf8(says_, code);
  }

  char32_t hex4() {
    char32_t code = 0;
    for (int i = 0; i < 4 && at_ != end_; ++i, ++at_) {
      const char c = *at_;
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c - 'A' + 10;
      code = code * 16 + static_cast<char32_t>(digit & 0xF);
    }
    return code;
  }

  const char* at_;
  const char* end_;
  std::string says_;  // a string with escapes, read
};

}  // namespace

std::uint64_t json_hash(std::string_view text) { return HashScan(text).value(1); }

}  // namespace carillon
