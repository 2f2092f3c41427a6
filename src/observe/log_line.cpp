#include <carillon/log.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/utf8.h"

namespace carillon {

namespace {

// Bytes of a value, tried from the longest until the whole line fits. The last fits always: an escape is six bytes at
// most, and no line has more than a dozen fields.
constexpr std::array<std::size_t, 3> kValueBytesMax{2000, 300, 30};

// Not in the middle of a character.
std::string_view cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

std::string shortened(std::string_view text, std::size_t bytes_max) {
  const std::string_view kept = cut(text, bytes_max);
  std::string out(kept);
  if (kept.size() < text.size()) out += "…";
  return out;
}

// As JSON, and what that leaves as it is though a terminal obeys it is escaped as well.
std::string harmless(std::string_view text) {
  const std::string quoted = json_string(text);
  std::string out;
  out.reserve(quoted.size());
  for (std::string_view left = quoted; !left.empty();) {
    const Utf8Character next = first_character(left);
    if (next.valid && acts_on_terminal(next.code)) {
      out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(next.code));
    } else {
      out += left.substr(0, next.bytes);
    }
    left.remove_prefix(next.bytes);
  }
  return out;
}

// A single word as it is, anything else in quotes.
std::string shown_value(std::string_view text) {
  const bool is_word = !text.empty() && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '=' && c != '\\';
  });
  return is_word ? std::string(text) : harmless(text);
}

std::string_view capitals(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "DEBUG";
    case LogLevel::info: return "INFO ";
    case LogLevel::warn: return "WARN ";
    case LogLevel::error: return "ERROR";
  }
  UNREACHABLE();
}

}  // namespace

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warn: return "warn";
    case LogLevel::error: return "error";
  }
  UNREACHABLE();
}

LogLine& LogLine::text(std::string_view name, std::string_view value) {
  if (!value.empty()) fields_.push_back({.name = std::string(name), .value = std::string(value)});
  return *this;
}

LogLine& LogLine::number(std::string_view name, std::int64_t value) {
  fields_.push_back({.name = std::string(name), .value = value});
  return *this;
}

LogLine& LogLine::decimal(std::string_view name, double value) {
  fields_.push_back({.name = std::string(name), .value = value});
  return *this;
}

LogLine& LogLine::milliseconds(std::string_view name, std::chrono::microseconds value) {
  return number(name, std::chrono::duration_cast<std::chrono::milliseconds>(value).count());
}

template <typename Write>
std::string LogLine::fitting(Write write) const {
  std::string line;
  for (const std::size_t bytes_max : kValueBytesMax) {
    line = write(bytes_max);
    if (line.size() <= kLogLineBytesMax) break;
  }
  return line;
}

std::string LogLine::json(Instant at) const {
  return fitting([&](std::size_t bytes_max) {
    JsonObject object;
    object.text("at", format_instant(at)).text("level", to_string(level_)).text("msg", shortened(message_, bytes_max));
    for (const Field& field : fields_) {
      if (const auto* const text = std::get_if<std::string>(&field.value)) {
        object.text(field.name, shortened(*text, bytes_max));
      } else if (const auto* const decimal = std::get_if<double>(&field.value)) {
        object.number(field.name, *decimal);
      } else {
        object.integer(field.name, std::get<std::int64_t>(field.value));
      }
    }
    return object.str() + "\n";
  });
}

std::string LogLine::plain(Instant at) const {
  return fitting([&](std::size_t bytes_max) {
    const std::string message = harmless(shortened(message_, bytes_max));
    // Without its quotes: it is a sentence.
    std::string line = fmt::format("{} {} {}", format_instant(at), capitals(level_),
                                   std::string_view(message).substr(1, message.size() - 2));
    for (const Field& field : fields_) {
      if (const auto* const text = std::get_if<std::string>(&field.value)) {
        line += fmt::format("  {}={}", field.name, shown_value(shortened(*text, bytes_max)));
      } else if (const auto* const decimal = std::get_if<double>(&field.value)) {
        line += fmt::format("  {}={}", field.name, json_number(*decimal));
      } else {
        line += fmt::format("  {}={}", field.name, std::get<std::int64_t>(field.value));
      }
    }
    return line + "\n";
  });
}

}  // namespace carillon
