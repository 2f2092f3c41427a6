#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "base/check.h"

namespace carillon {

namespace {

// Up to this many members a key is compared with its predecessors one by one; beyond, a set finds duplicates.
constexpr std::size_t kLinearMembersMax = 16;

// Of a number that is shown in a message.
constexpr std::size_t kShownDigitsMax = 32;

// Length of the valid UTF-8 sequence at the head of `bytes`, or 0. Overlong forms, surrogates and values above
// U+10FFFF are not valid (RFC 3629).
std::size_t utf8_length(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U; };
  const auto continues = [&](std::size_t i) { return (at(i) & 0xC0U) == 0x80U; };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    const bool overlong = lead == 0xE0 && at(1) < 0xA0;
    const bool surrogate = lead == 0xED && at(1) >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    const bool overlong = lead == 0xF0 && at(1) < 0x90;
    const bool too_high = lead == 0xF4 && at(1) >= 0x90;
    return overlong || too_high ? 0 : 4;
  }
  return 0;
}

void append_utf8(std::string& out, unsigned code_point) {
  const auto byte = [&](unsigned value) { out += static_cast<char>(value); };
  if (code_point < 0x80) {
    byte(code_point);
  } else if (code_point < 0x800) {
    byte(0xC0U | (code_point >> 6));
    byte(0x80U | (code_point & 0x3FU));
  } else if (code_point < 0x10000) {
    byte(0xE0U | (code_point >> 12));
    byte(0x80U | ((code_point >> 6) & 0x3FU));
    byte(0x80U | (code_point & 0x3FU));
  } else {
    byte(0xF0U | (code_point >> 18));
    byte(0x80U | ((code_point >> 12) & 0x3FU));
    byte(0x80U | ((code_point >> 6) & 0x3FU));
    byte(0x80U | (code_point & 0x3FU));
  }
}

// A member's name as part of a path: as it is if it is plain, else in quotes.
std::string printable_name(std::string_view name) {
  const bool plain = !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return plain ? std::string(name) : quoted(name);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Json> document() {
    TRY_ASSIGN(Json root, value(1));
    skip_space();
    if (position_ != text_.size()) return fail("expected the end after the value");
    return root;
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

  Result<Json> value(int depth) {
    skip_space();
    if (depth > kJsonDepthMax && (peek() == '{' || peek() == '[')) {
      return fail(fmt::format("nested deeper than {} levels", kJsonDepthMax));
    }
    Json out;
    out.offset = position_;
    switch (peek()) {
      case '{':
        out.type = JsonType::object;
        TRY(object(out, depth));
        return out;
      case '[':
        out.type = JsonType::array;
        TRY(array(out, depth));
        return out;
      case '"': {
        out.type = JsonType::string;
        TRY_ASSIGN(out.text, string());
        return out;
      }
      case 't':
        out.type = JsonType::boolean;
        out.boolean = true;
        TRY(word("true"));
        return out;
      case 'f':
        out.type = JsonType::boolean;
        TRY(word("false"));
        return out;
      case 'n': TRY(word("null")); return out;
      default: break;
    }
    if (peek() != '-' && !at_digit()) return fail("expected a value");
    out.type = JsonType::number;
    TRY(number());
    out.text = text_.substr(out.offset, position_ - out.offset);
    return out;
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

  Result<void> escape(std::string& out) {
    const char kind = peek();
    ++position_;
    switch (kind) {
      case '"':
      case '\\':
      case '/': out += kind; return {};
      case 'b': out += '\b'; return {};
      case 'f': out += '\f'; return {};
      case 'n': out += '\n'; return {};
      case 'r': out += '\r'; return {};
      case 't': out += '\t'; return {};
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
    append_utf8(out, code_point);
    return {};
  }

  // How many characters from here on stand for themselves.
  std::size_t plain_run() const {
    const std::string_view rest = text_.substr(position_);
    const auto* const end = std::ranges::find_if(
        rest, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || (c & 0x80) != 0; });
    return static_cast<std::size_t>(end - rest.begin());
  }

  Result<std::string> string() {
    std::string out;
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
      const std::size_t length = std::max(plain_run(), utf8_length(text_.substr(position_)));
      if (length == 0) return fail("not valid UTF-8");
      out += text_.substr(position_, length);
      position_ += length;
    }
    ++position_;  // the closing quote
    return out;
  }

  Result<void> array(Json& out, int depth) {
    ++position_;
    skip_space();
    if (eat(']')) return {};
    while (true) {
      TRY_ASSIGN(Json item, value(depth + 1));
      out.items.push_back(std::move(item));
      skip_space();
      if (eat(']')) return {};
      if (!eat(',')) return fail("expected , or ]");
    }
  }

  Result<void> object(Json& out, int depth) {
    ++position_;
    skip_space();
    if (eat('}')) return {};
    std::unordered_set<std::string> seen;
    while (true) {
      skip_space();
      const std::size_t key_offset = position_;
      if (peek() != '"') return fail("expected a name in double quotes");
      TRY_ASSIGN(std::string key, string());
      if (is_duplicate(out, seen, key)) {
        position_ = key_offset;
        return fail(fmt::format("{} is given twice in one object", quoted(key)));
      }
      skip_space();
      if (!eat(':')) return fail("expected :");
      TRY_ASSIGN(Json member, value(depth + 1));
      out.members.push_back({.key = std::move(key), .offset = key_offset, .value = std::move(member)});
      skip_space();
      if (eat('}')) return {};
      if (!eat(',')) return fail("expected , or }");
    }
  }

  static bool is_duplicate(const Json& object, std::unordered_set<std::string>& seen, const std::string& key) {
    if (object.members.size() < kLinearMembersMax) return object.find(key) != nullptr;
    if (seen.empty()) {
      for (const JsonMember& member : object.members) seen.insert(member.key);
    }
    return !seen.insert(key).second;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

std::string_view describe(JsonType type) {
  switch (type) {
    case JsonType::null: return "null";
    case JsonType::boolean: return "true or false";
    case JsonType::number: return "a number";
    case JsonType::string: return "a string";
    case JsonType::array: return "an array";
    case JsonType::object: return "an object";
  }
  UNREACHABLE();
}

const Json* Json::find(std::string_view key) const {
  const auto member = std::ranges::find(members, key, &JsonMember::key);
  return member == members.end() ? nullptr : &member->value;
}

Result<Json> parse_json(std::string_view text) { return Parser(text).document(); }

std::unexpected<Error> json_error(std::string_view text, std::size_t offset, std::string_view path,
                                  std::string_view message) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line = 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
  const std::size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const std::size_t column = offset - line_begin + 1;
  return std::unexpected(Error{
      .code = ErrorCode::invalid_request,
      .message = fmt::format("{} (line {}, column {}): {}", path.empty() ? "JSON" : path, line, column, message),
      .column = column,
      .line = line,
      .field = std::string(path),
  });
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x80) {
      // Bytes that are no text must not make unreadable what they stand in: they become U+FFFD.
      const std::size_t length = utf8_length(text.substr(i));
      out += length == 0 ? "\xEF\xBF\xBD" : text.substr(i, length);
      i += length == 0 ? 0 : length - 1;
      continue;
    }
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

const Json* JsonFields::optional(std::string_view name) {
  asked_.push_back(name);
  const Json* value = object_->find(name);
  return value == nullptr || value->type == JsonType::null ? nullptr : value;
}

Result<const Json*> JsonFields::optional(std::string_view name, JsonType type) {
  const Json* value = optional(name);
  if (value != nullptr && value->type != type) {
    return fail(*value, name, fmt::format("expected {}, found {}", describe(type), describe(value->type)));
  }
  return value;
}

Result<const Json*> JsonFields::required(std::string_view name, JsonType type) {
  TRY_ASSIGN(const Json* value, optional(name, type));
  if (value == nullptr) return missing(name, describe(type));
  return value;
}

Result<std::string> JsonFields::string(std::string_view name) {
  TRY_ASSIGN(const Json* value, required(name, JsonType::string));
  return value->text;
}

Result<std::int64_t> JsonFields::integer(std::string_view name, Range range) {
  TRY_ASSIGN(const Json* value, required(name, JsonType::number));
  return integer_of(text_, *value, path_of(name), range);
}

Result<std::int64_t> JsonFields::integer_of(std::string_view text, const Json& value, const std::string& path,
                                            Range range) {
  std::int64_t number = 0;
  const char* end = value.text.data() + value.text.size();
  const auto [parsed_to, ec] = std::from_chars(value.text.data(), end, number);
  if (value.type != JsonType::number || ec != std::errc{} || parsed_to != end || number < range.min ||
      number > range.max) {
    const std::string found =
        value.type == JsonType::number ? value.text.substr(0, kShownDigitsMax) : std::string(describe(value.type));
    return json_error(text, value.offset, path,
                      fmt::format("expected a whole number from {} to {}, found {}", range.min, range.max, found));
  }
  return number;
}

Result<void> JsonFields::finish() const {
  for (const JsonMember& member : object_->members) {
    if (std::ranges::find(asked_, member.key) == asked_.end()) {
      std::vector<std::string_view> allowed(asked_);
      std::ranges::sort(allowed);
      const auto repeated = std::ranges::unique(allowed);
      allowed.erase(repeated.begin(), repeated.end());
      return json_error(text_, member.offset, path_of(printable_name(member.key)),
                        fmt::format("unknown field; allowed are {}", fmt::join(allowed, ", ")));
    }
  }
  return {};
}

std::string JsonFields::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

std::unexpected<Error> JsonFields::missing(std::string_view name, std::string_view wanted) const {
  return fail(*object_, name, fmt::format("is missing; expected {}", wanted));
}

std::unexpected<Error> JsonFields::fail(const Json& at, std::string_view name, std::string_view message) const {
  return json_error(text_, at.offset, path_of(name), message);
}

}  // namespace carillon
