// Reading JSON so that an error can point at the character, and so that nothing is changed on the way.
//
// Stricter than most readers: a key given twice is refused (there is no telling which one was meant), nesting ends at
// 64, text must be valid UTF-8. Numbers stay as they were written: 1e400 and 17-digit doubles are not ours to round.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json_list.h"
#include "carillon/json.h"

namespace carillon {

// "a string", "an object": for messages.
std::string_view describe(JsonType type);

inline constexpr int kJsonDepthMax = 64;

struct JsonMember;

struct Json {
  JsonType type = JsonType::null;
  bool boolean = false;
  std::uint32_t offset = 0;  // where the value begins in the text
  std::string text;          // of a string: decoded; of a number: as written
  JsonList<Json> items;
  JsonList<JsonMember> members;  // in the order in which they were written

  const Json* find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  std::uint32_t offset = 0;  // where the key begins
  Json value;
};

// Texts that are longer are refused.
inline constexpr std::size_t kJsonBytesMax = std::numeric_limits<std::uint32_t>::max();

Result<Json> parse_json(std::string_view text);

// What somebody may make us keep who sends a text. Each is looked at while reading: what goes beyond is never built.
struct JsonBounds {
  static constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

  std::size_t bytes_max = kAny;    // that the values may take
  std::size_t items_max = kAny;    // of an array
  std::size_t members_max = kAny;  // of an object
  struct List {
    std::string_view name;
    std::size_t items_max;
  };
  std::span<const List> lists;              // arrays under these names have a bound of their own
  std::span<const std::string_view> whole;  // what stands under these names is JSON, and is not taken apart: a number
                                            // has its text, all else its type and its place
};
Result<Json> parse_json_within(std::string_view text, const JsonBounds& bounds);

// An error about the value at `offset` of `text`: "<path> (line L, column C): <message>". Without a path it is about
// the text as a whole.
std::unexpected<Error> json_error(std::string_view text, std::size_t offset, std::string_view path,
                                  std::string_view message);

// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

// Names of the fields of an object, said once and for good:
//
//   constexpr auto kBandFields = field_names("within", "every");
template <typename... Names>
constexpr std::array<std::string_view, sizeof...(Names)> field_names(Names... names) {
  return {std::string_view(names)...};
}

// Those of several lists, of which some objects share one.
template <std::size_t... Counts>
constexpr auto joined_fields(const std::array<std::string_view, Counts>&... lists) {
  std::array<std::string_view, (Counts + ...)> all;
  std::size_t at = 0;
  const auto add = [&](const auto& list) {
    for (const std::string_view name : list) all[at++] = name;
  };
  (add(lists), ...);
  return all;
}

// The members of one object, read by name. Which ones there may be is said up front, so that what is unknown is refused
// first, with all that is allowed. To read another one is a bug of ours.
//
//   TRY_ASSIGN(JsonFields fields, JsonFields::of(text, object, "trigger", kCronFields));
//   TRY_ASSIGN(const std::string cron, fields.string("cron"));
class JsonFields {
 public:
  using Names = std::span<const std::string_view>;
  // `object` lies in `text`, under the name `path`. All three and the names outlive it.
  static Result<JsonFields> of(std::string_view text, const Json& object, std::string path, Names names);
  // Of an object that may say more than we read: somebody else's, or a stored one.
  static JsonFields open(std::string_view text, const Json& object, std::string path) {
    return {text, object, std::move(path)};
  }

  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Null and absent are the same: there is nothing.
  const Json* optional(std::string_view name) const;
  Result<const Json*> required(std::string_view name, JsonType type) const;
  Result<const Json*> optional(std::string_view name, JsonType type) const;

  Result<std::string> string(std::string_view name) const;
  struct Range {
    std::int64_t min;
    std::int64_t max;
  };
  Result<std::int64_t> integer(std::string_view name, Range range) const;
  static Result<std::int64_t> integer_of(std::string_view text, const Json& value, const std::string& path,
                                         Range range);

  std::string path_of(std::string_view name) const;
  std::unexpected<Error> fail(const Json& at, std::string_view name, std::string_view message) const;
  std::unexpected<Error> missing(std::string_view name, std::string_view wanted) const;

 private:
  JsonFields(std::string_view text, const Json& object, std::string path)
      : text_(text), object_(&object), path_(std::move(path)) {}

  const Json* find(std::string_view name) const;

  std::string_view text_;
  const Json* object_;
  std::string path_;
  std::optional<Names> names_;  // nothing: it is open
};

}  // namespace carillon
