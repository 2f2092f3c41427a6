#include "base/json_hash.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/json_check.h"
#include "expect.h"

using namespace carillon;

namespace {

// The same value in other letters: members the other way round, white space between all, letters as escapes.
std::string write_otherwise(const Json& value) {
  const auto string = [](const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x80) {
        out += c;
      } else {
        constexpr std::string_view kDigits = "0123456789aBcDeF";
        out += "\\u00";
        out += kDigits[byte >> 4U];
        out += kDigits[byte & 0xFU];
      }
    }
    return out + '"';
  };
  std::vector<std::string> parts;
  switch (value.type) {
    case JsonType::null: return "null";
    case JsonType::boolean: return value.boolean ? "true" : "false";
    case JsonType::number: return value.text;
    case JsonType::string: return string(value.text);
    case JsonType::array:
      for (const Json& item : value.items) parts.push_back(write_otherwise(item));
      break;
    case JsonType::object:
      for (const JsonMember& member : value.members) {
        parts.push_back(string(member.key) + "\t:\n" + write_otherwise(member.value));
      }
      std::ranges::reverse(parts);
      break;
  }
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? " " : " , ") + part;
  return value.type == JsonType::array ? "[" + out + "]" : "{" + out + "\r}";
}

// Says nothing of how it was written: two values are the same only if this is.
std::string write_sorted(const Json& value) {
  std::vector<std::string> parts;
  std::string out;
  switch (value.type) {
    case JsonType::null: return "null";
    case JsonType::boolean: return value.boolean ? "true" : "false";
    case JsonType::number: return value.text;
    case JsonType::string: return json_string(value.text);
    case JsonType::array:
      for (const Json& item : value.items) out += write_sorted(item) + ",";
      return "[" + out + "]";
    case JsonType::object:
      for (const JsonMember& member : value.members) {
        parts.push_back(json_string(member.key) + ":" + write_sorted(member.value) + ",");
      }
      std::ranges::sort(parts);
      for (const std::string& part : parts) out += part;
      return "{" + out + "}";
  }
  UNREACHABLE();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const std::uint64_t hash = json_hash(text);  // whatever it is
  const auto value = parse_json(text);
  if (!value) return 0;
  CHECK(json_hash(write_otherwise(*value)) == hash);

  // Each half, where that is JSON as well: another value has another hash.
  for (const std::string_view part : {text.substr(0, size / 2), text.substr(size / 2)}) {
    const auto other = parse_json(part);
    if (other) CHECK((json_hash(part) == hash) == (write_sorted(*other) == write_sorted(*value)));
  }
  return 0;
}
