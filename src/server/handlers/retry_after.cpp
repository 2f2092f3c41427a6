#include "server/handlers/retry_after.h"

#include <curl/curl.h>

#include <algorithm>
#include <string>

namespace carillon::server {

namespace {

constexpr Duration kRetryAfterMax = std::chrono::days(365);

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

}  // namespace

std::optional<Duration> parse_retry_after(std::string_view text, Instant now) {
  text = trimmed(text);
  if (text.empty()) return std::nullopt;
  if (std::ranges::all_of(text, is_digit)) {
    constexpr std::int64_t kMost = std::chrono::duration_cast<std::chrono::seconds>(kRetryAfterMax).count();
    std::int64_t seconds = 0;
    for (const char c : text) seconds = std::min(seconds * 10 + (c - '0'), kMost);
    return std::chrono::seconds(seconds);
  }
  // Each form of HTTP begins with the day of the week; libcurl would also read numbers of its own.
  if (!is_letter(text.front())) return std::nullopt;
  const time_t at = curl_getdate(std::string(text).c_str(), nullptr);
  if (at == -1) return std::nullopt;
  const auto latest = std::chrono::floor<std::chrono::seconds>(kInstantMax).time_since_epoch();
  const Instant date(std::min(std::chrono::seconds(at), latest));
  return std::clamp(Duration(date - now), Duration::zero(), kRetryAfterMax);
}

}  // namespace carillon::server
