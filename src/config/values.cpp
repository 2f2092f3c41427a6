#include "config/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace carillon::config {

namespace {

using Kind = GivenValue::Kind;

template <typename T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool is_text(const GivenValue& value) { return value.kind == Kind::text || value.kind == Kind::plain; }

}  // namespace

Result<std::int64_t> read_integer(const GivenValue& value, IntegerRange range) {
  const bool fits = value.kind == Kind::integer || value.kind == Kind::plain;
  const auto read = fits ? parse_whole<std::int64_t>(value.text) : std::nullopt;
  if (!read || *read < range.min || *read > range.max) {
    return invalid_request(fmt::format("a whole number from {} to {}", range.min, range.max));
  }
  return *read;
}

Result<double> read_number(const GivenValue& value, NumberRange range) {
  const bool fits = value.kind == Kind::integer || value.kind == Kind::number || value.kind == Kind::plain;
  const auto read = fits ? parse_whole<double>(value.text) : std::nullopt;
  if (!read || !std::isfinite(*read) || *read < range.min || *read > range.max) {
    return invalid_request(fmt::format("a number from {} to {}", range.min, range.max));
  }
  return *read;
}

Result<bool> read_boolean(const GivenValue& value) {
  const bool fits = value.kind == Kind::boolean || value.kind == Kind::plain;
  if (fits && value.text == "true") return true;
  if (fits && value.text == "false") return false;
  if (value.kind == Kind::plain && value.text == "1") return true;
  if (value.kind == Kind::plain && value.text == "0") return false;
  return invalid_request("true or false");
}

Result<std::string> read_text(const GivenValue& value) {
  const bool one_line = std::ranges::none_of(value.text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (!is_text(value) || value.text.empty() || !one_line) return invalid_request("a text of one line, not empty");
  return value.text;
}

Result<std::string> read_long_text(const GivenValue& value) {
  if (!is_text(value) || value.text.contains('\0')) return invalid_request("a text");
  return value.text;
}

Result<Duration> read_duration(const GivenValue& value, DurationRange range) {
  if (is_text(value)) {
    const auto read = parse_duration(value.text);
    if (read && *read >= range.min && *read <= range.max) return *read;
  }
  return invalid_request(fmt::format("a duration from {} to {}, such as 30s, 10m, 7d", format_duration(range.min),
                                     format_duration(range.max)));
}

Result<std::vector<std::string>> read_list(const GivenValue& value) {
  std::vector<std::string> out;
  if (value.kind == Kind::list) {
    for (const GivenValue& item : value.items) {
      if (item.kind != Kind::text) return invalid_request("a list of texts");
      out.push_back(item.text);
    }
    return out;
  }
  if (value.kind != Kind::plain) return invalid_request("a list of texts");
  std::string_view rest = trimmed(value.text);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    out.emplace_back(trimmed(rest.substr(0, comma)));
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) out.emplace_back();  // a comma at the end: an entry that is empty, for its reader to refuse
  }
  return out;
}

std::string shown(const GivenValue& value) {
  switch (value.kind) {
    case Kind::plain:
    case Kind::text: return carillon::quoted(value.text);
    case Kind::integer:
    case Kind::number:
    case Kind::boolean:
    case Kind::other: return value.text;
    case Kind::list: {
      constexpr std::size_t kShownMax = 5;
      std::vector<std::string> items;
      for (const GivenValue& item : value.items) {
        if (items.size() == kShownMax) {
          items.emplace_back("…");
          break;
        }
        items.push_back(item.kind == Kind::list ? "[…]" : shown(item));
      }
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
  }
  return {};
}

std::string without_password(std::string_view url) {
  std::string out(url);
  // As a query parameter, which libpq takes as well.
  if (const std::size_t query = out.find("password="); query != std::string::npos) {
    const std::size_t begin = query + std::string_view("password=").size();
    out.replace(begin, std::min(out.find('&', begin), out.size()) - begin, "***");
  }
  const std::size_t scheme = out.find("://");
  if (scheme == std::string::npos) return out;
  const std::size_t begin = scheme + 3;
  // The last @ of the authority: a password may hold one that was not escaped.
  const std::size_t at = out.rfind('@', out.find_first_of("?#", begin));
  if (at == std::string::npos || at < begin) return out;
  const std::size_t colon = out.find(':', begin);
  if (colon < at) out.replace(colon + 1, at - colon - 1, "***");
  return out;
}

}  // namespace carillon::config
