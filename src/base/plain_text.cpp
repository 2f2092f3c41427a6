#include "base/plain_text.h"

#include "base/utf8.h"

namespace carillon {

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character first = first_character(text);
    out += first.valid ? text.substr(0, first.bytes) : "\xEF\xBF\xBD";
    text.remove_prefix(first.bytes);
  }
  return out;
}

std::string plain_text(std::string_view text) {
  std::string out = valid_utf8(text);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) c = ' ';
  }
  return out;
}

}  // namespace carillon
