#include "daemon/config_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace carillon::daemon {

namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

bool is_v4(const std::string& address) {
  in_addr parsed{};
  return inet_pton(AF_INET, address.c_str(), &parsed) == 1;
}

bool is_v6(const std::string& address) {
  in6_addr parsed{};
  return inet_pton(AF_INET6, address.c_str(), &parsed) == 1;
}

bool is_host_name(std::string_view name) {
  constexpr std::size_t kNameMax = 253;
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  const bool has_letter =
      std::ranges::any_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
  return !name.empty() && name.size() <= kNameMax && has_letter && std::ranges::all_of(name, is_allowed) &&
         name.front() != '-' && name.front() != '.' && !name.contains("..");
}

struct HostAndPort {
  std::string host;
  std::optional<std::string> port;
  bool bracketed = false;
};

// [HOST]:PORT, HOST:PORT or HOST; more than one colon without brackets is all host.
std::optional<HostAndPort> split(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    HostAndPort out{.host = std::string(text.substr(1, close - 1)), .port = {}, .bracketed = true};
    const std::string_view rest = text.substr(close + 1);
    if (rest.empty()) return out;
    if (!rest.starts_with(':')) return std::nullopt;
    out.port = rest.substr(1);
    return out;
  }
  if (std::ranges::count(text, ':') != 1) return HostAndPort{.host = std::string(text), .port = {}};
  const std::size_t colon = text.find(':');
  return HostAndPort{.host = std::string(text.substr(0, colon)), .port = std::string(text.substr(colon + 1))};
}

}  // namespace

bool ListenAddress::is_loopback() const {
  in_addr v4{};
  if (inet_pton(AF_INET, address.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, address.c_str(), &v6) != 1) return false;
  std::array<unsigned char, 16> bytes{};
  std::memcpy(bytes.data(), &v6, bytes.size());
  constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const bool is_mapped = std::equal(kMapped.begin(), kMapped.end(), bytes.begin());
  if (is_mapped) return bytes[12] == 127;
  return std::all_of(bytes.begin(), bytes.end() - 1, [](unsigned char byte) { return byte == 0; }) && bytes[15] == 1;
}

Result<ListenAddress> parse_listen(std::string_view text) {
  constexpr const char* kAllowed = "ADDRESS:PORT, for example 127.0.0.1:7440, [::1]:7440 or localhost:7440";
  const auto parts = split(text);
  if (!parts || !parts->port) return invalid_request(kAllowed);
  const auto port = parse_port(*parts->port);
  if (!port) return invalid_request("ADDRESS:PORT with a port from 0 to 65535");
  if (parts->bracketed ? is_v6(parts->host) : is_v4(parts->host)) {
    return ListenAddress{.address = parts->host, .port = *port};
  }
  if (parts->host == "localhost") return ListenAddress{.address = "127.0.0.1", .port = *port};
  return invalid_request(kAllowed);
}

std::string format_listen(const ListenAddress& listen) {
  return fmt::format(fmt::runtime(listen.address.contains(':') ? "[{}]:{}" : "{}:{}"), listen.address, listen.port);
}

Result<void> check_allow_entry(std::string_view entry) {
  const auto refuse = [] {
    return invalid_request(
        "an address (127.0.0.1:9000, [::1]:80), a network (10.1.0.0/16) or a host name (hook.internal), "
        "addresses and names with or without a port");
  };
  if (const std::size_t slash = entry.find('/'); slash != std::string_view::npos) {
    const std::string network(entry.substr(0, slash));
    const auto bits = parse_port(entry.substr(slash + 1));
    const std::uint16_t bits_max = is_v4(network) ? 32 : is_v6(network) ? 128 : 0;
    if (!bits || bits_max == 0 || *bits > bits_max) return refuse();
    return {};
  }
  const auto parts = split(entry);
  if (!parts) return refuse();
  if (parts->port && parse_port(*parts->port).value_or(0) == 0) return refuse();
  const bool is_address = parts->bracketed ? is_v6(parts->host) : is_v4(parts->host) || is_v6(parts->host);
  if (!is_address && (parts->bracketed || !is_host_name(parts->host))) return refuse();
  return {};
}

}  // namespace carillon::daemon
