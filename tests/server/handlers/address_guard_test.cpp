#include "net/address_guard.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include "server/handlers/support/addresses.h"
#include "support/results.h"

namespace carillon::server {
namespace {

using namespace carillon::test;

AddressGuard guard_with(const std::vector<std::string>& entries) { return value_of(AddressGuard::allowing(entries)); }

bool allows(const AddressGuard& guard, std::string_view host, std::string_view address, std::uint16_t port) {
  return !guard.refusal({.host = host, .address = parse_address(address).value(), .port = port});
}

TEST(AddressGuard, ThereAreEnoughAddressesAndTricks) {
  EXPECT_GE(kBlockedLiterals.size() + kTrickUrls.size(), 150U);
  EXPECT_GE(kBlockedLiterals.size(), 150U);
}

TEST(AddressGuard, EveryReservedAddressIsRefusedInEverySpelling) {
  const AddressGuard guard;
  for (const std::string_view host : kBlockedLiterals) {
    for (const std::string& url : {fmt::format("http://{}/", host), fmt::format("https://{}:8443/hook?x=1#y", host),
                                   fmt::format("HTTP://{}", host)}) {
      const Error error = error_of(guard.check_url(url));
      EXPECT_EQ(error.code, ErrorCode::invalid_configuration) << url;
      EXPECT_THAT(error.message, ::testing::HasSubstr("is blocked")) << url;
      expect_one_line(error);
    }
  }
}

TEST(AddressGuard, EveryTrickIsRefused) {
  const AddressGuard guard;
  for (const std::string_view url : kTrickUrls) {
    const Error error = error_of(guard.check_url(url));
    EXPECT_EQ(error.code, ErrorCode::invalid_configuration) << url;
    expect_one_line(error);
  }
  EXPECT_FALSE(guard.check_url("http://example.com/" + std::string(3000, 'a')));
  EXPECT_FALSE(guard.check_url(std::string_view("http://example.com\0.evil/", 24)));
}

TEST(AddressGuard, PublicAddressesAndNamesPass) {
  const AddressGuard guard;
  for (const std::string_view host : kPublicLiterals) {
    EXPECT_TRUE(guard.check_url(fmt::format("http://{}/", host))) << host;
  }
  // A name is vetted when it is called.
  for (const std::string_view url :
       {"https://example.com/hook", "http://EXAMPLE.com.:8080", "http://localhost/", "https://a-b.c_d.example/x?y=@z#@",
        "http://1and1.com/", "http://xn--bcher-kva.example/", "http://0x.example/",
        "http://metadata.google.internal/"}) {
    EXPECT_TRUE(guard.check_url(url)) << url;
  }
}

// The judge: what the C library would connect to.
TEST(AddressGuard, SpellingsMeanWhatTheResolverMakesOfThem) {
  int compared = 0;
  for (const auto& hosts :
       {std::span<const std::string_view>(kBlockedLiterals), std::span<const std::string_view>(kPublicLiterals)}) {
    for (std::string_view host : hosts) {
      if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
      addrinfo hints{};
      hints.ai_flags = AI_NUMERICHOST;
      addrinfo* found = nullptr;
      if (getaddrinfo(std::string(host).c_str(), nullptr, &hints, &found) != 0) continue;
      EXPECT_EQ(parse_address(host), address_of(*found->ai_addr)) << host;
      freeaddrinfo(found);
      ++compared;
    }
  }
  EXPECT_GT(compared, 150);
}

TEST(AddressGuard, AZoneDoesNotHideAnAddress) {
  EXPECT_EQ(parse_address("fe80::1%eth0"), parse_address("fe80::1"));
  EXPECT_EQ(parse_address("[::1%lo]"), parse_address("::1"));
}

TEST(AddressGuard, WhatTheOperatorListsPassesAndNothingElse) {
  const AddressGuard guard = guard_with(
      {"127.0.0.1:9000", "10.1.0.0/16", "hook.internal", "[::1]:80", "fd00::/8", "192.168.7.7", "other.internal:8080"});
  EXPECT_TRUE(allows(guard, "x.example", "127.0.0.1", 9000));
  EXPECT_FALSE(allows(guard, "x.example", "127.0.0.1", 9001));
  EXPECT_FALSE(allows(guard, "x.example", "127.0.0.2", 9000));
  EXPECT_TRUE(allows(guard, "x.example", "::ffff:127.0.0.1", 9000));
  EXPECT_TRUE(allows(guard, "x.example", "10.1.255.255", 1));
  EXPECT_FALSE(allows(guard, "x.example", "10.2.0.0", 1));
  EXPECT_TRUE(allows(guard, "hook.internal", "10.9.9.9", 443));
  EXPECT_TRUE(allows(guard, "HOOK.internal.", "10.9.9.9", 443));
  EXPECT_FALSE(allows(guard, "evil-hook.internal", "10.9.9.9", 443));
  EXPECT_FALSE(allows(guard, "hook.internal.evil", "10.9.9.9", 443));
  EXPECT_TRUE(allows(guard, "x.example", "::1", 80));
  EXPECT_FALSE(allows(guard, "x.example", "::1", 81));
  EXPECT_TRUE(allows(guard, "x.example", "fd12::1", 81));
  EXPECT_FALSE(allows(guard, "x.example", "fc00::1", 81));
  EXPECT_TRUE(allows(guard, "x.example", "192.168.7.7", 5));
  EXPECT_TRUE(allows(guard, "other.internal", "10.9.9.9", 8080));
  EXPECT_FALSE(allows(guard, "other.internal", "10.9.9.9", 80));
  EXPECT_TRUE(allows(guard, "x.example", "8.8.8.8", 80));
  EXPECT_TRUE(guard.check_url("http://127.0.0.1:9000/"));
  EXPECT_FALSE(guard.check_url("http://127.0.0.1:9001/"));
  EXPECT_TRUE(guard.check_url("http://[::1]/"));
}

TEST(AddressGuard, AnEntryThatCannotBeReadIsRefusedWithWhatIsAllowed) {
  for (const std::string_view bad :
       {"",       " ",         "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/",   "10.0.0.0/8x", "/8",
        "::/129", "[::1",      "[::1]x",      "[::1]:0",     "127.0.0.1:0", "127.0.0.1:",  "127.0.0.1:99999",
        "a b",    "http://x/", "foo..bar",    "1.2.3.4.5",   "fe80::1%lo",  "*",           "*.internal"}) {
    const Error error = error_of(AddressGuard::allowing(std::vector{std::string(bad)}));
    EXPECT_EQ(error.code, ErrorCode::invalid_configuration) << bad;
    EXPECT_THAT(error.message, ::testing::HasSubstr("hook.internal")) << bad;
    expect_one_line(error);
  }
}

TEST(AddressGuard, AUrlIsTakenApart) {
  const HttpUrl url = value_of(parse_http_url("HTTPS://Hook.Example.com.:8443/a?b"));
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.host, "hook.example.com");
  EXPECT_EQ(url.port, 8443);
  EXPECT_EQ(value_of(parse_http_url("http://[2606:4700::1]?x")).host, "2606:4700::1");
  EXPECT_EQ(value_of(parse_http_url("https://a")).port, 443);
  EXPECT_EQ(value_of(parse_http_url("http://a")).port, 80);
}

}  // namespace
}  // namespace carillon::server
