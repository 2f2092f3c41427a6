// Reading JSON so that an error can point at the character, and so that nothing is changed on the way.
//
// Stricter than most readers: a key given twice is refused (there is no telling which one was meant), nesting ends at
// 64, text must be valid UTF-8. Numbers stay as they were written: 1e400 and 17-digit doubles are not ours to round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "carillon/json.h"

namespace carillon {

// "a string", "an object": for messages.
std::string_view describe(JsonType type);

inline constexpr int kJsonDepthMax = 64;

struct JsonMember;

struct Json {
  JsonType type = JsonType::null;
  std::size_t offset = 0;  // where the value begins in the text
  bool boolean = false;
  std::string text;  // of a string: decoded; of a number: as written
  std::vector<Json> items;
  std::vector<JsonMember> members;  // in the order in which they were written

  const Json* find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  std::size_t offset = 0;  // where the key begins
  Json value;
};

Result<Json> parse_json(std::string_view text);

// An error about the value at `offset` of `text`: "<path> (line L, column C): <message>". Without a path it is about
// the text as a whole.
std::unexpected<Error> json_error(std::string_view text, std::size_t offset, std::string_view path,
                                  std::string_view message);

// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

// The members of one object, read by name. Each read checks the type and remembers the name; `finish` then refuses
// what nobody asked for.
//
//   JsonFields fields(text, object, "trigger");
//   TRY_ASSIGN(const std::string cron, fields.string("cron"));
//   TRY(fields.finish());
class JsonFields {
 public:
  JsonFields(std::string_view text, const Json& object, std::string path)
      : text_(text), object_(&object), path_(std::move(path)) {}

  bool has(std::string_view name) const { return object_->find(name) != nullptr; }
  // Null and absent are the same: there is nothing. Counts as asked for.
  const Json* optional(std::string_view name);
  Result<const Json*> required(std::string_view name, JsonType type);
  Result<const Json*> optional(std::string_view name, JsonType type);

  Result<std::string> string(std::string_view name);
  struct Range {
    std::int64_t min;
    std::int64_t max;
  };
  Result<std::int64_t> integer(std::string_view name, Range range);
  static Result<std::int64_t> integer_of(std::string_view text, const Json& value, const std::string& path,
                                         Range range);

  Result<void> finish() const;

  std::string path_of(std::string_view name) const;
  std::unexpected<Error> fail(const Json& at, std::string_view name, std::string_view message) const;
  std::unexpected<Error> missing(std::string_view name, std::string_view wanted) const;

 private:
  std::string_view text_;
  const Json* object_;
  std::string path_;
  std::vector<std::string_view> asked_;
};

}  // namespace carillon
