#include <charconv>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "base/json.h"
#include "carillon/json.h"

namespace carillon {

namespace {

// Below this every whole number is a double of its own.
constexpr double kExactDoubleMax = 9007199254740992.0;

// The whole of `number`, if a T can hold it.
template <typename T>
std::optional<T> read_as(const std::string& number) {
  T value = 0;
  const char* const end = number.data() + number.size();
  const auto [parsed_to, ec] = std::from_chars(number.data(), end, value);
  return ec == std::errc{} && parsed_to == end ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> int_of(const std::string& number) {
  if (const auto value = read_as<std::int64_t>(number)) return value;
  // Written with a point or an exponent, as some writers do with every number.
  const auto real = read_as<double>(number);
  if (!real || std::abs(*real) >= kExactDoubleMax || std::trunc(*real) != *real) return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

// Where the string that begins at `begin` ends, its quotes included. The text is known to be JSON.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  std::size_t i = begin + 1;
  while (text[i] != '"') i += text[i] == '\\' ? std::size_t{2} : std::size_t{1};
  return i + 1;
}

// The same for an array or an object.
std::size_t end_of_nested(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  std::size_t i = begin;
  do {
    const char c = text[i];
    if (c == '"') {
      i = end_of_string(text, i);
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    ++i;
  } while (depth > 0);
  return i;
}

std::size_t end_of_value(std::string_view text, const Json& json) {
  switch (json.type) {
    case JsonType::null: return json.offset + std::string_view("null").size();
    case JsonType::boolean: return json.offset + std::string_view(json.boolean ? "true" : "false").size();
    case JsonType::number: return json.offset + json.text.size();
    case JsonType::string: return end_of_string(text, json.offset);
    case JsonType::array:
    case JsonType::object: return end_of_nested(text, json.offset);
  }
  UNREACHABLE();
}

}  // namespace

struct JsonValue::Document {
  std::string text;
  Json root;
};

JsonValue::JsonValue(std::shared_ptr<const Document> document, const Json* json)
    : document_(std::move(document)), json_(json) {}

Result<JsonValue> JsonValue::parse(std::string_view text) {
  TRY_ASSIGN(Json root, parse_json(text));
  auto document = std::make_shared<const Document>(Document{.text = std::string(text), .root = std::move(root)});
  const Json* const json = &document->root;
  return JsonValue(std::move(document), json);
}

JsonValue JsonValue::child(const Json* json) const {
  return json == nullptr ? JsonValue() : JsonValue(document_, json);
}

JsonType JsonValue::type() const { return json_ == nullptr ? JsonType::null : json_->type; }

JsonValue JsonValue::at(std::string_view key) const { return is_object() ? child(json_->find(key)) : JsonValue(); }

JsonValue JsonValue::at(std::size_t index) const {
  return is_array() && index < json_->items.size() ? child(&json_->items[index]) : JsonValue();
}

bool JsonValue::contains(std::string_view key) const { return is_object() && json_->find(key) != nullptr; }

std::size_t JsonValue::size() const { return json_ == nullptr ? 0 : json_->items.size() + json_->members.size(); }

std::vector<std::string> JsonValue::keys() const {
  std::vector<std::string> names;
  if (!is_object()) return names;
  names.reserve(json_->members.size());
  for (const JsonMember& member : json_->members) names.push_back(member.key);
  return names;
}

std::string JsonValue::as_string(std::string_view otherwise) const {
  return is_string() ? json_->text : std::string(otherwise);
}

std::int64_t JsonValue::as_int(std::int64_t otherwise) const {
  return is_number() ? int_of(json_->text).value_or(otherwise) : otherwise;
}

double JsonValue::as_double(double otherwise) const {
  return is_number() ? read_as<double>(json_->text).value_or(otherwise) : otherwise;
}

bool JsonValue::as_bool(bool otherwise) const { return is_boolean() ? json_->boolean : otherwise; }

std::string_view JsonValue::raw() const {
  if (json_ == nullptr) return "null";
  const std::string_view text = document_->text;
  return text.substr(json_->offset, end_of_value(text, *json_) - json_->offset);
}

}  // namespace carillon
