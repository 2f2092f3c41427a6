#include "base/json.h"

#include <array>

#include "base/check.h"
#include "base/json_check.h"
#include "expect.h"

using namespace carillon;

namespace {

std::string write(const Json& value) {
  std::string out;
  switch (value.type) {
    case JsonType::null: return "null";
    case JsonType::boolean: return value.boolean ? "true" : "false";
    case JsonType::number: return value.text;
    case JsonType::string: return json_string(value.text);
    case JsonType::array:
      for (const Json& item : value.items) out += (out.empty() ? "" : ",") + write(item);
      return '[' + out + ']';
    case JsonType::object:
      for (const JsonMember& member : value.members) {
        out += (out.empty() ? "" : ",") + json_string(member.key) + ':' + write(member.value);
      }
      return '{' + out + '}';
  }
  UNREACHABLE();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);

  if (const auto value = parse_json(text); !value) {
    fuzz::expect_readable(value.error(), text);
  } else {
    const std::string written = write(*value);
    const auto again = parse_json(written);
    CHECK(again && write(*again) == written);
  }

  CHECK(check_json(text).has_value() == parse_json(text).has_value());
  CHECK(judge_json(text).has_value() == parse_json(text).has_value());

  // Bounds refuse more, and take in nothing that is no JSON.
  static constexpr std::array<std::string_view, 1> kWhole{"a"};
  static constexpr std::array kLists{JsonBounds::List{"b", 1}};
  const auto bounded =
      parse_json_within(text, {.bytes_max = 4096, .items_max = 3, .members_max = 3, .lists = kLists, .whole = kWhole});
  CHECK(!bounded || parse_json(text).has_value());

  // Any bytes as one string can be read. What they were comes back, unless they are no UTF-8: then U+FFFD stands in it,
  // and the string reads back as itself from then on.
  const auto string = parse_json(json_string(text));
  CHECK(string.has_value() && string->type == JsonType::string);
  if (string->text != text) {
    CHECK(string->text.contains("\xEF\xBF\xBD"));
    CHECK(parse_json(json_string(string->text))->text == string->text);
  }
  return 0;
}
