// Which addresses a webhook may reach: public ones, and what the operator lists. Nothing here looks up a name; whoever
// connects asks about the address that it is about to connect to, each time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

struct sockaddr;

namespace carillon {

// An IPv4 address is kept as IPv6 writes it, ::ffff:a.b.c.d: both spellings are the same address.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};

  bool is_v4() const;
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

std::string to_string(const IpAddress& address);

// What a resolver makes of a host that is no name: 127.0.0.1, 0x7f.1, 0177.0.0.1, 2130706433, ::1, [::1], fe80::1%eth0.
// One dot at the end changes nothing. Nothing: it is a name, or nonsense.
std::optional<IpAddress> parse_address(std::string_view host);

// Of AF_INET and AF_INET6; else nothing.
std::optional<IpAddress> address_of(const sockaddr& address);

// What the address is reserved for ("loopback", "private", …); nothing: it is public. An address that means an
// IPv4 one (mapped, NAT64) is judged as that one; transition forms that can hide one (6to4, Teredo, compatible) are
// never public.
std::optional<std::string_view> reserved_for(const IpAddress& address);

struct HttpUrl {
  bool tls = false;
  std::string host;  // in lower case, without brackets and the dot at the end
  std::uint16_t port = 0;
  std::optional<IpAddress> literal;  // of a host that is no name
};

// Stricter than other readers of URLs, so that none of them reads it otherwise: http or https, no user, no character
// that needs escaping, a host in plain ASCII. Errors: invalid_configuration.
Result<HttpUrl> parse_http_url(std::string_view url);

class AddressGuard {
 public:
  // Public addresses only.
  AddressGuard() = default;

  // And these: "127.0.0.1:9000" and "[::1]:80" (one port), "10.0.0.5" and "::1" (any port), "10.1.0.0/16",
  // "hook.internal" and "hook.internal:8080" (a name, whatever it resolves to). Errors: invalid_configuration.
  static Result<AddressGuard> allowing(std::span<const std::string> entries);

  struct Target {
    std::string_view host;  // as in the URL
    IpAddress address;      // what is connected to
    std::uint16_t port = 0;
  };
  // Why it must not be connected to; nothing: it may.
  std::optional<std::string_view> refusal(const Target& target) const;

  // What can be said before any name is looked up: the URL is readable, and a literal address is not blocked.
  Result<void> check_url(std::string_view url) const;

 private:
  struct Entry {
    std::string name;  // "": a network
    IpAddress network;
    int bits = 128;
    std::optional<std::uint16_t> port;
  };
  static Result<Entry> parse_entry(std::string_view text);

  std::vector<Entry> allowed_;
};

}  // namespace carillon
