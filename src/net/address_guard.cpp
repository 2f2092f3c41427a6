#include "net/address_guard.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/check.h"

namespace carillon {

namespace {

constexpr std::size_t kUrlBytesMax = 2048;
constexpr std::size_t kHostBytesMax = 253;

struct Network {
  std::string_view prefix;
  int bits;
  std::string_view what;
};

// IANA's special-purpose registry, as far as it is not globally reachable, and what clouds put elsewhere.
constexpr std::array kReservedV4 = std::to_array<Network>({
    {"0.0.0.0", 8, "this network"},
    {"10.0.0.0", 8, "private"},
    {"100.64.0.0", 10, "carrier-grade NAT"},
    {"127.0.0.0", 8, "loopback"},
    {"168.63.129.16", 32, "cloud metadata"},
    {"169.254.0.0", 16, "link-local"},
    {"172.16.0.0", 12, "private"},
    {"192.0.0.0", 24, "protocol assignments"},
    {"192.0.2.0", 24, "documentation"},
    {"192.88.99.0", 24, "6to4 relay"},
    {"192.168.0.0", 16, "private"},
    {"198.18.0.0", 15, "benchmarking"},
    {"198.51.100.0", 24, "documentation"},
    {"203.0.113.0", 24, "documentation"},
    {"224.0.0.0", 4, "multicast"},
    {"255.255.255.255", 32, "broadcast"},
    {"240.0.0.0", 4, "reserved"},
});

constexpr std::array kReservedV6 = std::to_array<Network>({
    {"::", 128, "unspecified"},
    {"::1", 128, "loopback"},
    {"::", 96, "IPv4-compatible"},
    {"64:ff9b:1::", 48, "local NAT64"},
    {"100::", 64, "discard"},
    {"2001::", 32, "Teredo"},
    {"2001::", 23, "protocol assignments"},
    {"2001:db8::", 32, "documentation"},
    {"2002::", 16, "6to4"},
    {"3fff::", 20, "documentation"},
    {"fc00::", 7, "unique local"},
    {"fe80::", 10, "link-local"},
    {"fec0::", 10, "site-local"},
    {"ff00::", 8, "multicast"},
});

constexpr std::string_view kNat64 = "64:ff9b::";
constexpr int kNat64Bits = 96;
constexpr std::string_view kGlobalUnicast = "2000::";
constexpr int kGlobalUnicastBits = 3;

constexpr int kMappedBits = 96;

IpAddress from_v4(std::uint32_t value) {
  IpAddress address;
  address.bytes[10] = 0xFF;
  address.bytes[11] = 0xFF;
  for (std::size_t i = 0; i < 4; ++i) address.bytes[12 + i] = static_cast<std::uint8_t>(value >> (24U - 8U * i));
  return address;
}

std::optional<IpAddress> parse_v6(std::string_view text) {
  if (text.size() >= INET6_ADDRSTRLEN || text.find(':') == std::string_view::npos) return std::nullopt;
  IpAddress address;
  if (inet_pton(AF_INET6, std::string(text).c_str(), address.bytes.data()) != 1) return std::nullopt;
  return address;
}

// Decimal, 0x hexadecimal, 0 octal.
std::optional<std::uint64_t> parse_part(std::string_view text) {
  if (text.empty()) return std::nullopt;
  int base = 10;
  if (text.size() >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
    if (text.empty()) return 0;
  } else if (text.size() >= 2 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  std::uint64_t value = 0;
  const char* const end = text.end();
  const auto [stopped, error] = std::from_chars(text.begin(), end, value, base);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t found = text.find(at);
    parts.push_back(text.substr(0, found));
    if (found == std::string_view::npos) return parts;
    text.remove_prefix(found + 1);
  }
}

// One to four numbers; the last one fills what is left.
std::optional<IpAddress> parse_v4(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  if (parts.size() > 4) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto part = parse_part(parts[i]);
    if (!part) return std::nullopt;
    const bool last = i + 1 == parts.size();
    const std::uint64_t max = last ? (std::uint64_t{1} << (8 * (4 - i))) - 1 : 255;
    if (*part > max) return std::nullopt;
    value |= last ? *part : *part << (8 * (3 - i));
  }
  return from_v4(static_cast<std::uint32_t>(value));
}

bool is_in(const IpAddress& address, const IpAddress& network, int bits) {
  const auto whole = static_cast<std::size_t>(bits / 8);
  if (!std::equal(network.bytes.begin(), network.bytes.begin() + whole, address.bytes.begin())) return false;
  const int left = bits % 8;
  if (left == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xFFU << static_cast<unsigned>(8 - left));
  return (network.bytes[whole] & mask) == (address.bytes[whole] & mask);
}

bool is_in(const IpAddress& address, const Network& network) {
  const auto prefix = parse_address(network.prefix);
  return prefix && is_in(address, *prefix, prefix->is_v4() ? kMappedBits + network.bits : network.bits);
}

// A last label that is a number makes a host an address, or nothing at all.
bool looks_like_v4(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') == std::string_view::npos ? 0 : host.rfind('.') + 1);
  if (last.empty()) return false;
  if (std::ranges::all_of(last, [](char c) { return c >= '0' && c <= '9'; })) return true;
  return last.size() >= 2 && last[0] == '0' && (last[1] == 'x' || last[1] == 'X') && parse_part(last);
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

bool is_name(std::string_view host) {
  return !host.empty() && host.size() <= kHostBytesMax && host.front() != '.' && host.back() != '.' &&
         host.find("..") == std::string_view::npos && std::ranges::all_of(host, is_name_character) &&
         !looks_like_v4(host);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string_view without_last_dot(std::string_view host) {
  if (host.size() > 1 && host.ends_with('.')) host.remove_suffix(1);
  return host;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text.empty() || text.size() > 5) return std::nullopt;
  std::uint32_t port = 0;
  const char* const end = text.end();
  const auto [stopped, error] = std::from_chars(text.begin(), end, port);
  if (error != std::errc{} || stopped != end || port == 0 || port > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

constexpr std::string_view kPortWanted = "its port must be 1 to 65535";

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

// "" if it has none. A port that is not written is the scheme's.
std::string part_of(const CURLU& url, CURLUPart part) {
  char* text = nullptr;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): before 8.0 libcurl does not say that it only reads
  if (curl_url_get(const_cast<CURLU*>(&url), part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

}  // namespace

bool IpAddress::is_v4() const {
  return std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t b) { return b == 0; }) && bytes[10] == 0xFF &&
         bytes[11] == 0xFF;
}

std::string to_string(const IpAddress& address) {
  if (address.is_v4()) {
    return fmt::format("{}.{}.{}.{}", address.bytes[12], address.bytes[13], address.bytes[14], address.bytes[15]);
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, address.bytes.data(), text.data(), text.size());
  return text.data();
}

std::optional<IpAddress> parse_address(std::string_view host) {
  if (host.size() >= 2 && host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos) return std::nullopt;
  }
  if (host.find(':') != std::string_view::npos) return parse_v6(host.substr(0, host.find('%')));
  return parse_v4(without_last_dot(host));
}

std::optional<IpAddress> address_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return from_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    IpAddress out;
    std::memcpy(out.bytes.data(), &v6.sin6_addr, out.bytes.size());
    return out;
  }
  return std::nullopt;
}

std::optional<std::string_view> reserved_for(const IpAddress& address) {
  if (!address.is_v4()) {
    if (is_in(address, {kNat64, kNat64Bits, ""})) {
      IpAddress inner = from_v4(0);
      std::copy(address.bytes.begin() + 12, address.bytes.end(), inner.bytes.begin() + 12);
      return reserved_for(inner);
    }
    for (const Network& network : kReservedV6) {
      if (is_in(address, network)) return network.what;
    }
    if (!is_in(address, {kGlobalUnicast, kGlobalUnicastBits, ""})) return "reserved";
    return std::nullopt;
  }
  for (const Network& network : kReservedV4) {
    if (is_in(address, network)) return network.what;
  }
  return std::nullopt;
}

Result<HttpUrl> parse_http_url(std::string_view url) {
  const auto refuse = [&](std::string_view why) {
    return invalid_configuration(fmt::format("cannot use {} as the URL of a webhook: {}", quoted(url), why));
  };
  if (url.size() > kUrlBytesMax) return refuse(fmt::format("it is longer than {} bytes", kUrlBytesMax));
  const auto is_plain = [](char c) { return c > ' ' && c < 0x7F && c != '\\' && c != '"' && c != '<' && c != '>'; };
  if (!std::ranges::all_of(url, is_plain)) {
    return refuse("only printable ASCII is allowed, without space, backslash, quotes and angle brackets");
  }
  const std::size_t colon = url.find("://");
  const std::string scheme = lower(url.substr(0, colon == std::string_view::npos ? 0 : colon));
  if (scheme != "http" && scheme != "https") return refuse("it must begin with http:// or https://");
  // What libcurl forgives: more slashes, escapes in the host, a colon without a port.
  std::string_view authority = url.substr(colon + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  if (authority.empty()) return refuse("it has no host");
  if (authority.find('%') != std::string_view::npos) return refuse("the host must be written without %");
  if (authority.ends_with(':')) return refuse(kPortWanted);

  const std::unique_ptr<CURLU, FreeUrl> read(curl_url());
  CHECK(read != nullptr);
  const CURLUcode code = curl_url_set(read.get(), CURLUPART_URL, std::string(url).c_str(), CURLU_DISALLOW_USER);
  if (code == CURLUE_USER_NOT_ALLOWED) return refuse("a user or password is not allowed");
  if (code == CURLUE_BAD_PORT_NUMBER) return refuse(kPortWanted);
  if (code != CURLUE_OK) return refuse(curl_url_strerror(code));
  const auto port = parse_port(part_of(*read, CURLUPART_PORT));
  if (!port) return refuse(kPortWanted);
  const std::string host = part_of(*read, CURLUPART_HOST);
  HttpUrl parsed{.tls = scheme == "https", .host = {}, .port = *port, .literal = parse_address(host)};
  if (host.starts_with('[')) {
    if (!parsed.literal) return refuse("its host is not an IPv6 address");
    parsed.host = lower(host.substr(1, host.size() - 2));
    return parsed;
  }
  parsed.host = lower(without_last_dot(host));
  if (!parsed.literal && !is_name(parsed.host)) {
    return refuse("its host must be an address, or a name of letters, digits, '-', '_' and '.'");
  }
  return parsed;
}

Result<AddressGuard::Entry> AddressGuard::parse_entry(std::string_view text) {
  const auto refuse = [&] {
    return invalid_configuration(
        fmt::format("cannot allow {} for webhooks: an entry is an address (10.0.0.5, ::1), one "
                    "with a port (127.0.0.1:9000, [::1]:80), a network (10.1.0.0/16) or a name "
                    "(hook.internal, hook.internal:8080)",
                    quoted(text)));
  };
  Entry entry;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const auto network = parse_address(text.substr(0, slash));
    int bits = -1;
    const std::string_view digits = text.substr(slash + 1);
    const char* const end = digits.end();
    const auto [stopped, error] = std::from_chars(digits.begin(), end, bits);
    if (!network || error != std::errc{} || stopped != end || bits < 0) return refuse();
    const bool is_v6_text = text.substr(0, slash).find(':') != std::string_view::npos;
    if (bits > (is_v6_text ? 128 : 32)) return refuse();
    entry.network = *network;
    entry.bits = is_v6_text ? bits : kMappedBits + bits;
    return entry;
  }
  std::string_view host = text;
  std::optional<std::string_view> port;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return refuse();
    host = text.substr(0, close + 1);
    const std::string_view rest = text.substr(close + 1);
    if (!rest.empty()) {
      if (!rest.starts_with(':')) return refuse();
      port = rest.substr(1);
    }
  } else if (std::ranges::count(text, ':') == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(text.find(':') + 1);
  }
  if (port) {
    entry.port = parse_port(*port);
    if (!entry.port) return refuse();
  }
  if (const auto address = parse_address(host)) {
    if (host.find('%') != std::string_view::npos) return refuse();
    entry.network = *address;
    return entry;
  }
  entry.name = lower(without_last_dot(host));
  if (!is_name(entry.name)) return refuse();
  return entry;
}

Result<AddressGuard> AddressGuard::allowing(std::span<const std::string> entries) {
  AddressGuard guard;
  for (const std::string& text : entries) {
    TRY_ASSIGN(Entry entry, parse_entry(text));
    guard.allowed_.push_back(std::move(entry));
  }
  return guard;
}

std::optional<std::string_view> AddressGuard::refusal(const Target& target) const {
  const auto reserved = reserved_for(target.address);
  if (!reserved) return std::nullopt;
  const std::string host = lower(without_last_dot(target.host));
  for (const Entry& entry : allowed_) {
    if (entry.port && *entry.port != target.port) continue;
    if (entry.name.empty() ? is_in(target.address, entry.network, entry.bits) : entry.name == host) return std::nullopt;
  }
  return reserved;
}

Result<void> AddressGuard::check_url(std::string_view url) const {
  TRY_ASSIGN(const HttpUrl parsed, parse_http_url(url));
  if (!parsed.literal) return {};
  if (const auto why = refusal({.host = parsed.host, .address = *parsed.literal, .port = parsed.port})) {
    return invalid_configuration(
        fmt::format("cannot use {} as the URL of a webhook: {} is blocked ({}); the operator may allow it under "
                    "[webhooks] allow",
                    quoted(url), to_string(*parsed.literal), *why));
  }
  return {};
}

}  // namespace carillon
