// Writing one JSON object, member by member.
//
//   JsonObject object;
//   object.text("name", "ada").integer("age", 36);
//   object.str()   // {"name":"ada","age":36}
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace carillon {

// A measured value, to the millionth: 12.5, 300. It must be finite.
std::string json_number(double value);

class JsonObject {
 public:
  JsonObject& text(std::string_view name, std::string_view value);
  JsonObject& integer(std::string_view name, std::int64_t value);
  JsonObject& number(std::string_view name, double value);
  JsonObject& boolean(std::string_view name, bool value);
  // `value` is JSON already.
  JsonObject& raw(std::string_view name, std::string_view value);

  // For about so many bytes.
  JsonObject& reserve(std::size_t bytes) {
    members_.reserve(bytes);
    return *this;
  }

  bool empty() const { return members_.empty(); }
  std::string str() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

// A list of values that are JSON already.
class JsonArray {
 public:
  JsonArray& raw(std::string_view value);
  std::string str() const { return "[" + items_ + "]"; }

 private:
  std::string items_;
};

}  // namespace carillon
