#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_check.h"
#include "base/json_keys.h"
#include "base/utf8.h"

namespace carillon {

namespace {

// Room for the members of a job.
constexpr std::size_t kMembersUsual = 8;

// What an allocation costs besides its bytes.
constexpr std::size_t kAllocationBytes = 16;

class Parser {
 public:
  Parser(std::string_view text, const JsonBounds& bounds) : text_(text), bounds_(bounds), keys_(text) {}
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser() = default;

  // Into `out`; null: only whether it is one.
  Result<void> document(Json* out) {
    if (text_.size() > kJsonBytesMax) return fail(fmt::format("longer than {} bytes", kJsonBytesMax));
    TRY(value(1, out, {}));
    skip_space();
    if (position_ != text_.size()) return fail("expected the end after the value");
    return {};
  }

 private:
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool at_end() const { return position_ == text_.size(); }
  bool at_digit() const { return peek() >= '0' && peek() <= '9'; }

  bool eat(char expected) {
    if (at_end() || peek() != expected) return false;
    ++position_;
    return true;
  }

  void skip_space() {
    while (!at_end() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) ++position_;
  }

  std::unexpected<Error> fail(std::string_view message) const { return json_error(text_, position_, "", message); }
  std::unexpected<Error> fail_at(std::size_t offset, std::string_view path, std::string_view message) const {
    return json_error(text_, offset, path, message);
  }

  // ---- What is kept.
  Result<void> charge(std::size_t bytes) {
    kept_ += bytes;
    if (kept_ > bounds_.bytes_max) {
      return fail(fmt::format("too many values: what they say would take more than {} bytes", bounds_.bytes_max));
    }
    return {};
  }
  Result<void> charge(const std::string& text) {
    static const std::size_t inside = std::string().capacity();
    return text.capacity() > inside ? charge(text.capacity() + kAllocationBytes) : Result<void>();
  }

  // ---- Values. `name` is that of the member whose value it is.
  Result<void> value(int depth, Json* out, std::string_view name) {
    skip_space();
    if (depth > kJsonDepthMax && (peek() == '{' || peek() == '[')) {
      return fail(fmt::format("nested deeper than {} levels", kJsonDepthMax));
    }
    const std::size_t begin = position_;
    const auto is = [&](JsonType type) {
      if (out != nullptr) out->type = type;
    };
    if (out != nullptr) out->offset = static_cast<std::uint32_t>(begin);
    switch (peek()) {
      case '{': is(JsonType::object); return object(depth, out, name);
      case '[': is(JsonType::array); return array(depth, out, name);
      case '"':
        is(JsonType::string);
        TRY(string(out == nullptr ? nullptr : &out->text));
        return out == nullptr ? Result<void>() : charge(out->text);
      case 't':
        is(JsonType::boolean);
        if (out != nullptr) out->boolean = true;
        return word("true");
      case 'f': is(JsonType::boolean); return word("false");
      case 'n': return word("null");
      default: break;
    }
    if (peek() != '-' && !at_digit()) return fail("expected a value");
    TRY(number());
    if (out == nullptr) return {};
    out->type = JsonType::number;
    out->text = text_.substr(begin, position_ - begin);
    return charge(out->text);
  }

  // One that is not taken apart.
  Result<void> whole(int depth, Json& out) {
    skip_space();
    const std::size_t begin = position_;
    TRY(value(depth, nullptr, {}));
    out.offset = static_cast<std::uint32_t>(begin);
    switch (text_[begin]) {
      case '{': out.type = JsonType::object; return {};
      case '[': out.type = JsonType::array; return {};
      case '"': out.type = JsonType::string; return {};
      case 'n': return {};
      case 't':
      case 'f':
        out.type = JsonType::boolean;
        out.boolean = text_[begin] == 't';
        return {};
      default: break;
    }
    out.type = JsonType::number;
    out.text = text_.substr(begin, position_ - begin);
    return charge(out.text);
  }

  Result<void> word(std::string_view expected) {
    if (text_.substr(position_, expected.size()) != expected) return fail("expected a value");
    position_ += expected.size();
    return {};
  }

  Result<void> digits() {
    if (!at_digit()) return fail("expected a digit");
    while (at_digit()) ++position_;
    return {};
  }

  Result<void> number() {
    eat('-');
    if (!eat('0')) TRY(digits());
    if (eat('.')) TRY(digits());
    if (eat('e') || eat('E')) {
      if (!eat('+')) eat('-');
      TRY(digits());
    }
    return {};
  }

  // ---- Strings.
  Result<unsigned> hex4() {
    unsigned value = 0;
    const std::string_view digits = text_.substr(position_, 4);
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (ec != std::errc{} || digits.size() != 4 || end != digits.data() + 4) {
      return fail("expected four hexadecimal digits after \\u");
    }
    position_ += 4;
    return value;
  }

  Result<void> escape(std::string* out) {
    const auto add = [&](char c) -> Result<void> {
      if (out != nullptr) *out += c;
      return {};
    };
    const char kind = peek();
    ++position_;
    switch (kind) {
      case '"':
      case '\\':
      case '/': return add(kind);
      case 'b': return add('\b');
      case 'f': return add('\f');
      case 'n': return add('\n');
      case 'r': return add('\r');
      case 't': return add('\t');
      case 'u': break;
      default: --position_; return fail("unknown escape; allowed are \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
    }
    TRY_ASSIGN(unsigned code_point, hex4());
    if (code_point >= 0xDC00 && code_point <= 0xDFFF) return fail("a low surrogate without a high one before it");
    if (code_point >= 0xD800 && code_point <= 0xDBFF) {
      if (!eat('\\') || !eat('u')) return fail("a high surrogate without a low one after it");
      TRY_ASSIGN(const unsigned low, hex4());
      if (low < 0xDC00 || low > 0xDFFF) return fail("a high surrogate without a low one after it");
      code_point = 0x10000 + ((code_point - 0xD800) << 10) + (low - 0xDC00);
    }
    if (out != nullptr) append_utf8(*out, code_point);
    return {};
  }

  // How many characters from here on stand for themselves.
  std::size_t plain_run() const {
    const std::string_view rest = text_.substr(position_);
    const auto* const end = std::ranges::find_if(
        rest, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || (c & 0x80) != 0; });
    return static_cast<std::size_t>(end - rest.begin());
  }

  std::size_t character() const {
    const Utf8Character first = first_character(text_.substr(position_));
    return first.valid ? first.bytes : 0;
  }

  // What it says is added to `out`, unless that is null.
  Result<void> string(std::string* out) {
    ++position_;  // the opening quote
    while (true) {
      if (at_end()) return fail("the string does not end");
      const auto byte = static_cast<unsigned char>(peek());
      if (byte == '"') break;
      if (byte < 0x20) return fail("a control character must be written as an escape");
      if (byte == '\\') {
        ++position_;
        TRY(escape(out));
        continue;
      }
      const std::size_t length = byte < 0x80 ? plain_run() : character();
      if (length == 0) return fail("not valid UTF-8");
      if (out != nullptr) out->append(text_.substr(position_, length));
      position_ += length;
    }
    ++position_;  // the closing quote
    return {};
  }

  // ---- Arrays and objects. What is in them stands on a stack until their end, and then moves into its place at once.
  std::size_t items_max(std::string_view name) const {
    const auto named = std::ranges::find(bounds_.lists, name, &JsonBounds::List::name);
    return named == bounds_.lists.end() ? bounds_.items_max : named->items_max;
  }

  Result<void> array(int depth, Json* out, std::string_view name) {
    const std::size_t begin = position_++;
    skip_space();
    if (eat(']')) return {};
    const std::size_t below = items_.size();
    const std::size_t most = out == nullptr ? JsonBounds::kAny : items_max(name);
    while (true) {
      if (out == nullptr) {
        TRY(value(depth + 1, nullptr, {}));
      } else {
        if (items_.size() - below == most) {
          return fail_at(begin, name, fmt::format("more than {} items; at most {} are allowed", most, most));
        }
        TRY(charge(sizeof(Json)));
        Json item;
        TRY(value(depth + 1, &item, {}));
        items_.push_back(std::move(item));
      }
      skip_space();
      if (eat(']')) break;
      if (!eat(',')) return fail("expected , or ]");
    }
    if (out == nullptr) return {};
    out->items = JsonList<Json>(std::span(items_).subspan(below));
    items_.resize(below);
    return charge(kAllocationBytes);
  }

  Result<void> object(int depth, Json* out, std::string_view name) {
    const std::size_t begin = position_++;
    skip_space();
    if (eat('}')) return {};
    if (members_.capacity() == 0) members_.reserve(kMembersUsual);
    const std::size_t below = members_.size();
    const JsonKeys::Mark mark = keys_.begin();
    std::size_t count = 0;
    while (true) {
      skip_space();
      if (peek() != '"') return fail("expected a name in double quotes");
      if (out != nullptr && count++ == bounds_.members_max) {
        return fail_at(
            begin, name,
            fmt::format("more than {} members; at most {} are allowed", bounds_.members_max, bounds_.members_max));
      }
      TRY(out == nullptr ? passing_member(depth, mark) : kept_member(depth, mark));
      skip_space();
      if (eat('}')) break;
      if (!eat(',')) return fail("expected , or }");
    }
    if (const auto repeated = keys_.repeated(mark)) {
      position_ = *repeated;
      std::string key;
      TRY(string(&key));
      return given_twice(*repeated, key);
    }
    keys_.end(mark);
    if (out == nullptr) return {};
    out->members = JsonList<JsonMember>(std::span(members_).subspan(below));
    members_.resize(below);
    return charge(kAllocationBytes);
  }

  // A key, and the colon behind it. What it says is in `says`, for as long as the object is open.
  Result<void> key(const JsonKeys::Mark& mark, std::string& says) {
    const std::size_t begin = position_;
    TRY(string(&says));
    const std::string_view written = text_.substr(begin + 1, position_ - begin - 2);
    const bool differs = says.size() != written.size();  // escapes are longer than what they say
    if (!keys_.add(mark, begin, written, differs ? std::optional(says) : std::nullopt)) return given_twice(begin, says);
    skip_space();
    if (!eat(':')) return fail("expected :");
    return {};
  }

  std::unexpected<Error> given_twice(std::size_t offset, const std::string& key) const {
    return fail_at(offset, "", fmt::format("{} is given twice in one object", quoted(key)));
  }

  Result<void> passing_member(int depth, const JsonKeys::Mark& mark) {
    TRY(key(mark, passing_));
    passing_.clear();
    return value(depth + 1, nullptr, {});
  }

  Result<void> kept_member(int depth, const JsonKeys::Mark& mark) {
    TRY(charge(sizeof(JsonMember)));
    JsonMember one{.key = {}, .offset = static_cast<std::uint32_t>(position_), .value = {}};
    TRY(key(mark, one.key));
    TRY(charge(one.key));
    if (std::ranges::find(bounds_.whole, one.key) != bounds_.whole.end()) {
      TRY(whole(depth + 1, one.value));
    } else {
      TRY(value(depth + 1, &one.value, one.key));
    }
    members_.push_back(std::move(one));
    return {};
  }

  std::string_view text_;
  const JsonBounds& bounds_;
  std::size_t position_ = 0;
  std::size_t kept_ = 0;
  JsonKeys keys_;
  std::vector<Json> items_;
  std::vector<JsonMember> members_;
  std::string passing_;  // a key that nobody keeps
};

}  // namespace

Result<Json> parse_json(std::string_view text) { return parse_json_within(text, {}); }

Result<Json> parse_json_within(std::string_view text, const JsonBounds& bounds) {
  Json root;
  TRY(Parser(text, bounds).document(&root));
  return root;
}

Result<void> judge_json(std::string_view text) {
  const JsonBounds none;
  return Parser(text, none).document(nullptr);
}

}  // namespace carillon
