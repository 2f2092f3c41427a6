#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/nearest_name.h"
#include "base/utf8.h"

namespace carillon {

namespace {

// Of a number that is shown in a message.
constexpr std::size_t kShownDigitsMax = 32;

// A member's name as part of a path: as it is if it is plain, else in quotes.
std::string printable_name(std::string_view name) {
  const bool plain = !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return plain ? std::string(name) : quoted(name);
}

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
      const Utf8Character first = first_character(text.substr(i));
      out += first.valid ? text.substr(i, first.bytes) : "\xEF\xBF\xBD";
      i += first.bytes - 1;
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

Result<JsonFields> JsonFields::of(std::string_view text, const Json& object, std::string path, Names names) {
  JsonFields fields(text, object, std::move(path));
  fields.names_ = names;
  for (const JsonMember& member : object.members) {
    if (std::ranges::find(names, member.key) != names.end()) continue;
    std::vector<std::string_view> allowed(names.begin(), names.end());
    std::ranges::sort(allowed);
    return json_error(text, member.offset, fields.path_of(printable_name(member.key)),
                      allowed.empty() ? "unknown field; nothing is to be said here"
                                      : fmt::format("unknown field{}; allowed are {}",
                                                    did_you_mean(member.key, allowed), fmt::join(allowed, ", ")));
  }
  return fields;
}

const Json* JsonFields::find(std::string_view name) const {
  const Json* const value = object_->find(name);
  // One that is there was found among the names.
  CHECK(value != nullptr || !names_ || std::ranges::find(*names_, name) != names_->end());
  return value;
}

const Json* JsonFields::optional(std::string_view name) const {
  const Json* value = find(name);
  return value == nullptr || value->type == JsonType::null ? nullptr : value;
}

Result<const Json*> JsonFields::optional(std::string_view name, JsonType type) const {
  const Json* value = optional(name);
  if (value != nullptr && value->type != type) {
    return fail(*value, name, fmt::format("expected {}, found {}", describe(type), describe(value->type)));
  }
  return value;
}

Result<const Json*> JsonFields::required(std::string_view name, JsonType type) const {
  TRY_ASSIGN(const Json* value, optional(name, type));
  if (value == nullptr) return missing(name, describe(type));
  return value;
}

Result<std::string> JsonFields::string(std::string_view name) const {
  TRY_ASSIGN(const Json* value, required(name, JsonType::string));
  return value->text;
}

Result<std::int64_t> JsonFields::integer(std::string_view name, Range range) const {
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
