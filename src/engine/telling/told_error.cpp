#include "engine/telling/told_error.h"

#include "base/json.h"
#include "base/utf8.h"

namespace carillon {

namespace {

constexpr std::size_t kLookedThroughBytesMax = 65'536;
// Shorter words of a payload are words of everybody: ok, true, en.
constexpr std::size_t kWordBytesMin = 6;
constexpr std::string_view kTakenOut = "[payload]";
constexpr std::string_view kMore = "…";

void take_out(std::string& text, std::string_view word) {
  if (word.size() < kWordBytesMin) return;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + kTakenOut.size())) {
    text.replace(at, word.size(), kTakenOut);
  }
}

// No deeper than JSON may be nested.
void take_out_words(std::string& text, const Json& value) {
  if (value.type == JsonType::string) take_out(text, value.text);
  for (const Json& item : value.items) take_out_words(text, item);
  for (const JsonMember& member : value.members) take_out_words(text, member.value);
}

void cut(std::string& text) {
  if (text.size() <= kToldErrorBytesMax) return;
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t next = end + first_character(std::string_view(text).substr(end)).bytes;
    if (next > kToldErrorBytesMax - kMore.size()) break;
    end = next;
  }
  text.resize(end);
  text += kMore;
}

}  // namespace

std::string told_error(std::string_view error, std::string_view payload) {
  if (error.empty() || payload.empty() || payload.size() > kLookedThroughBytesMax) return {};
  std::string text(error);
  take_out(text, payload);
  if (const auto json = parse_json(payload)) take_out_words(text, *json);
  cut(text);
  return text;
}

}  // namespace carillon
