#include "base/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/json.h"

namespace carillon {

namespace {

bool stands_for_itself(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

// The same of eight bytes at once. May say no of some that do: these are looked at one by one.
bool stand_for_themselves(std::uint64_t bytes) {
  constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101U;
  constexpr std::uint64_t kHigh = 0x80 * kOnes;
  const auto has_zero = [](std::uint64_t word) { return (word - kOnes) & ~word & kHigh; };
  const std::uint64_t below_space = (bytes - 0x20 * kOnes) & ~bytes & kHigh;
  return ((bytes & kHigh) | below_space | has_zero(bytes ^ ('"' * kOnes)) | has_zero(bytes ^ ('\\' * kOnes)) |
          has_zero(bytes ^ (0x7f * kOnes))) == 0;
}

bool all_stand_for_themselves(std::string_view text) {
  while (text.size() >= sizeof(std::uint64_t)) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data(), sizeof bytes);
    if (!stand_for_themselves(bytes)) break;
    text.remove_prefix(sizeof bytes);
  }
  return std::ranges::all_of(text, stands_for_itself);
}

// Answers are full of names and short texts: those that need no escape are not copied twice.
void append_string(std::string& out, std::string_view text) {
  if (!all_stand_for_themselves(text)) {
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
