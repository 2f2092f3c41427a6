#include "base/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/json.h"

namespace carillon {

namespace {

bool stands_for_itself(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

// Answers are full of names and short texts: those that need no escape are not copied twice.
void append_string(std::string& out, std::string_view text) {
  if (!std::ranges::all_of(text, stands_for_itself)) {
    out += json_string(text);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

void append_name(std::string& members, std::string_view name) {
  if (!members.empty()) members += ',';
  append_string(members, name);
  members += ':';
}

}  // namespace

std::string json_number(double value) {
  CHECK(std::isfinite(value));
  constexpr double kMillion = 1e6;
  const double rounded = std::round(value * kMillion) / kMillion;
  return fmt::format("{}", std::isfinite(rounded) ? rounded : value);
}

JsonObject& JsonObject::raw(std::string_view name, std::string_view value) {
  append_name(members_, name);
  members_ += value;
  return *this;
}

JsonObject& JsonObject::text(std::string_view name, std::string_view value) {
  append_name(members_, name);
  append_string(members_, value);
  return *this;
}

JsonObject& JsonObject::integer(std::string_view name, std::int64_t value) {
  std::array<char, 24> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return raw(name, {digits.data(), end});
}

JsonObject& JsonObject::number(std::string_view name, double value) { return raw(name, json_number(value)); }

JsonObject& JsonObject::boolean(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }

JsonArray& JsonArray::raw(std::string_view value) {
  if (!items_.empty()) items_ += ',';
  items_ += value;
  return *this;
}

}  // namespace carillon
