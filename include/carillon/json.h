// A JSON value to read from, as a handler gets its payload.
//
//   const std::string city = payload.at("user").at("address").at("city").as_string("unknown");
//
// Reading never fails: what is absent is null, and what is null or of another type gives the value for otherwise. Who
// has to tell the cases apart asks for the type. A value is one pointer into a parsed text that all copies share; it
// never changes, so that threads may read it at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/error.h"

namespace carillon {

enum class JsonType : std::uint8_t { null, boolean, number, string, array, object };

struct Json;

class JsonValue {
 public:
  // null
  JsonValue() = default;

  // Refuses what is not exactly one value, a key given twice in one object, text that is not UTF-8, and more than 64
  // levels. The error points at the line and column.
  static Result<JsonValue> parse(std::string_view text);

  JsonType type() const;
  bool is_null() const { return type() == JsonType::null; }
  bool is_boolean() const { return type() == JsonType::boolean; }
  bool is_number() const { return type() == JsonType::number; }
  bool is_string() const { return type() == JsonType::string; }
  bool is_array() const { return type() == JsonType::array; }
  bool is_object() const { return type() == JsonType::object; }

  // The member of that name; null if there is none, or if this is not an object.
  JsonValue at(std::string_view key) const;
  // The item at that place, counted from 0; null past the end, or if this is not an array.
  JsonValue at(std::size_t index) const;

  // Also true of a member that is null.
  bool contains(std::string_view key) const;
  // Items of an array, members of an object, else 0.
  std::size_t size() const;
  // The names of an object's members, as they were written one after the other.
  std::vector<std::string> keys() const;

  std::string as_string(std::string_view otherwise = {}) const;
  // A number with a fraction, or one that does not fit, gives `otherwise`; 5.0 and 5e0 are 5.
  std::int64_t as_int(std::int64_t otherwise = 0) const;
  // The nearest double; a number outside of their range gives `otherwise`.
  double as_double(double otherwise = 0) const;
  bool as_bool(bool otherwise = false) const;

  // The text of this value as it was written, without the space around it: numbers keep all their digits. Lives as long
  // as any value of the same parse.
  std::string_view raw() const;

 private:
  struct Document;

  JsonValue(std::shared_ptr<const Document> document, const Json* json);
  JsonValue child(const Json* json) const;

  std::shared_ptr<const Document> document_;  // holds what json_ points to
  const Json* json_ = nullptr;                // nothing: null
};

}  // namespace carillon
