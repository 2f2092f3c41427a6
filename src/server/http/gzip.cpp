#include "server/http/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>

#include "base/check.h"

namespace carillon::server {

namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window, framed as gzip
constexpr int kMemoryLevel = 8;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool same_letters(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

// "q=0", "q=0.00": not wanted.
bool is_refused(std::string_view weight) {
  weight = trimmed(weight);
  if (weight.size() < 3 || !same_letters(weight.substr(0, 2), "q=")) return false;
  return weight.substr(2).find_first_not_of("0.") == std::string_view::npos;
}

}  // namespace

bool accepts_gzip(const HttpRequest& request) {
  std::optional<bool> named;
  bool everything = false;
  for (const HttpHeader& header : request.headers) {
    if (header.name != "accept-encoding") continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view item = rest.substr(0, comma);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      const std::size_t semicolon = std::min(item.find(';'), item.size());
      const std::string_view coding = trimmed(item.substr(0, semicolon));
      const bool wanted = !is_refused(item.substr(std::min(semicolon + 1, item.size())));
      if (same_letters(coding, "gzip")) named = wanted;
      if (coding == "*") everything = wanted;
    }
  }
  return named.value_or(everything);
}

std::string gzip(std::string_view content) {
  CHECK(content.size() <= std::numeric_limits<uInt>::max());
  z_stream stream{};
  CHECK(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string compressed(deflateBound(&stream, content.size()), '\0');
  // zlib does not write to its input, but its interface does not say so.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(content.data()));  // NOLINT
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  return compressed;
}

}  // namespace carillon::server
