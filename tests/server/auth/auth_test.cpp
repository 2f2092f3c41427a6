// Keys, who they are for, sessions, and pages of other sites.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/auth/key_ring.h"
#include "server/auth/own_page.h"
#include "server/auth/sessions.h"
#include "support/results.h"

namespace carillon::server {
namespace {

using namespace std::chrono_literals;
using test::value_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Instant kNow{1'800'000'000'000ms};

ApiKey stored(std::string_view scope, std::string_view tenants) {
  return value_of(read_key("k1", R"({"id":"k1","name":"n","scope":")" + std::string(scope) + R"(","tenants":)" +
                                     std::string(tenants) +
                                     R"(,"created_at":"2026-01-01T00:00:00.000Z","expires_at":null,"hash":"h"})"));
}

TEST(TenantSet, NothingIsNobody) {
  EXPECT_TRUE(TenantSet().is_nobody());
  EXPECT_TRUE(TenantSet::of({}).is_nobody());
  EXPECT_FALSE(TenantSet().has("a"));
  EXPECT_FALSE(TenantSet::of({}).has(""));
  TenantSet some = TenantSet::of({"a", "b"});
  EXPECT_TRUE(some.has("a"));
  EXPECT_FALSE(some.has("c"));
  some.remove("a");
  some.remove("b");
  EXPECT_TRUE(some.is_nobody());
  EXPECT_FALSE(some.is_all());
  EXPECT_TRUE(TenantSet::all().has("c"));
}

// What is added up over the tenants of a key would be shown as often as each is named.
TEST(TenantSet, HasEachOnce) {
  const TenantSet twice = TenantSet::of({"b", "a", "b"});
  EXPECT_THAT(twice.names(), ElementsAre("a", "b"));
  EXPECT_EQ(twice, TenantSet::of({"a", "b"}));
}

TEST(KeyRing, AKeyIsReadAsItWasMeantWhenItWasStored) {
  EXPECT_TRUE(stored("read", "\"all\"").tenants.is_all());
  EXPECT_THAT(stored("read", R"(["a"])").tenants.names(), ElementsAre("a"));
  for (const std::string_view scope : {"read", "worker", "admin"}) {
    EXPECT_TRUE(stored(scope, "[]").tenants.is_all()) << scope;
    EXPECT_TRUE(stored(scope, "null").tenants.is_all()) << scope;
  }
  EXPECT_TRUE(stored("tenant", "[]").tenants.is_nobody());
  EXPECT_TRUE(stored("read", "\"none\"").tenants.is_nobody());
}

// A set that has become empty must not come back as all of them.
TEST(KeyRing, WhatIsWrittenIsReadAgain) {
  for (const Scope scope : {Scope::read, Scope::worker, Scope::tenant}) {
    for (const TenantSet& tenants : {TenantSet::all(), TenantSet(), TenantSet::of({"a", "b"})}) {
      ApiKey key = make_key("n", scope, kNow).key;
      EXPECT_TRUE(key.tenants.is_nobody());
      key.tenants = tenants;
      EXPECT_EQ(value_of(read_key(key.id, write_key(key))).tenants, tenants);
    }
  }
  EXPECT_TRUE(make_key("n", Scope::admin, kNow).key.tenants.is_all());
}

TEST(KeyRing, AnIdIsLookedUpAsItStands) {
  KeyRing ring;
  std::vector<std::string> told;
  ring.on_change([&](std::string_view id) { told.emplace_back(id); });
  ApiKey key = make_key("n", Scope::worker, kNow).key;
  key.tenants = TenantSet::of({"a"});
  key.expires_at = kNow + 10s;
  ring.put(key);
  EXPECT_THAT(told, IsEmpty());
  EXPECT_TRUE(ring.caller(key.id, kNow)->may_see("a"));
  EXPECT_FALSE(ring.caller(key.id, kNow + 10s));
  EXPECT_FALSE(ring.caller("other", kNow));
  key.tenants = TenantSet::of({"b"});
  ring.put(key);
  EXPECT_FALSE(ring.caller(key.id, kNow)->may_see("a"));
  const std::uint64_t changes = ring.changes();
  ring.remove(key.id);
  ring.remove(key.id);
  EXPECT_FALSE(ring.caller(key.id, kNow));
  EXPECT_EQ(ring.changes(), changes + 1);
  EXPECT_THAT(told, ElementsAre(key.id, key.id));
}

TEST(KeyRing, TheFirstAdminIsTheOldestThatIsGood) {
  KeyRing ring;
  EXPECT_FALSE(ring.first_admin(kNow));
  const ApiKey first = make_key("a", Scope::admin, kNow - 1h).key;
  ApiKey over = make_key("b", Scope::admin, kNow - 2h).key;
  over.expires_at = kNow;
  for (const ApiKey& key :
       {make_key("c", Scope::admin, kNow).key, first, over, make_key("d", Scope::read, kNow - 3h).key}) {
    ring.put(key);
  }
  EXPECT_EQ(ring.first_admin(kNow)->id, first.id);
  EXPECT_TRUE(ring.has_admin(kNow));
}

TEST(Sessions, TheOldestMakeRoom) {
  Sessions sessions;
  const Caller busy{.id = "busy"};
  const std::string others = sessions.begin({.id = "other"}, kNow).cookie;
  std::vector<std::string> cookies;
  for (std::size_t i = 0; i <= Sessions::kOfKeyMax; ++i) {
    cookies.push_back(sessions.begin(busy, kNow + std::chrono::seconds(i)).cookie);
  }
  EXPECT_FALSE(sessions.find(cookies.front(), kNow));
  EXPECT_TRUE(sessions.find(cookies[1], kNow));
  EXPECT_TRUE(sessions.find(others, kNow));
  for (std::size_t i = 0; i < Sessions::kAllMax; ++i) sessions.begin({.id = "k" + std::to_string(i)}, kNow + 1h);
  EXPECT_FALSE(sessions.find(others, kNow));
}

TEST(Sessions, LinksOfAKeyMakeRoomForItsOwn) {
  Sessions sessions;
  const std::string others = sessions.make_login("other", kNow, 10min);
  std::vector<std::string> links;
  for (std::size_t i = 0; i <= Sessions::kLoginsOfKeyMax; ++i) {
    links.push_back(sessions.make_login("busy", kNow + std::chrono::seconds(i), 10min));
  }
  EXPECT_FALSE(sessions.use_login(links.front(), kNow + 1min));
  EXPECT_EQ(sessions.use_login(links[1], kNow + 1min), "busy");
  EXPECT_EQ(sessions.use_login(others, kNow + 1min), "other");
}

TEST(Sessions, WhoIsSignedOutIsTold) {
  Sessions sessions;
  std::vector<std::string> ended;
  sessions.on_end([&](std::string_view id) { ended.emplace_back(id); });
  const std::string cookie = sessions.begin({.id = "k1"}, kNow).cookie;
  const std::string id = sessions.find(cookie, kNow)->id;
  EXPECT_TRUE(sessions.stands(id, kNow));
  EXPECT_FALSE(sessions.stands(cookie, kNow));
  EXPECT_FALSE(sessions.stands(id, kNow + Sessions::kLength));
  sessions.end(cookie);
  sessions.end(cookie);
  EXPECT_FALSE(sessions.stands(id, kNow));
  EXPECT_THAT(ended, ElementsAre(id));
}

TEST(Sessions, AKeyBeginsOnlySoManyInAMinute) {
  Sessions sessions;
  const Instant minute = std::chrono::floor<std::chrono::minutes>(kNow);
  for (std::size_t i = 0; i < Sessions::kBeginsMax; ++i) EXPECT_FALSE(sessions.wait_to_begin("a", minute + 10s));
  EXPECT_EQ(sessions.wait_to_begin("a", minute + 10s), 50s);
  EXPECT_EQ(sessions.wait_to_begin("a", minute + 59s + 1ms), 1s);
  EXPECT_FALSE(sessions.wait_to_begin("b", minute + 10s));
  EXPECT_FALSE(sessions.wait_to_begin("a", minute + 60s));
}

TEST(Sessions, AKeysSessionsAndLinksEndWithIt) {
  Sessions sessions;
  const std::string link = sessions.make_login("k1", kNow, 10min);
  const std::string others = sessions.make_login("k2", kNow, 10min);
  const Sessions::Begun begun = sessions.begin({.id = "k1"}, kNow);
  EXPECT_EQ(sessions.find(begun.cookie, kNow)->csrf, begun.csrf);
  sessions.end_of_key("k1");
  EXPECT_FALSE(sessions.find(begun.cookie, kNow));
  EXPECT_FALSE(sessions.use_login(link, kNow));
  EXPECT_EQ(sessions.use_login(others, kNow), "k2");
  EXPECT_FALSE(sessions.use_login(others, kNow)) << "a link signs in once";
}

TEST(OwnPage, OnlyTheSameHostIsOurs) {
  const auto is_own = [](std::string origin, std::string host) {
    return is_from_own_page(
        {{.name = "origin", .value = std::move(origin)}, {.name = "host", .value = std::move(host)}});
  };
  EXPECT_TRUE(is_own("http://h:7440", "h:7440"));
  EXPECT_TRUE(is_own("https://h", "h"));
  for (const std::string origin :
       {"http://h", "http://h:7441", "http://evil.h:7440", "http://h:7440.evil", "null", ""}) {
    EXPECT_FALSE(is_own(origin, "h:7440")) << origin;
  }
  EXPECT_FALSE(is_from_own_page({{.name = "host", .value = "h"}}));
  EXPECT_FALSE(is_from_own_page({{.name = "origin", .value = "http://h"}}));
}

TEST(OwnPage, CookiesAreFoundByTheirWholeName) {
  const std::vector<HttpHeader> headers{
      {.name = "cookie", .value = "carillon_session_74401=a; x=b;carillon_session_7440=c"}};
  EXPECT_EQ(cookie_of(headers, session_cookie(7440)), "c");
  EXPECT_EQ(cookie_of(headers, session_cookie(744)), std::nullopt);
}

TEST(OwnPage, JsonIsSaid) {
  const auto is = [](std::string type) { return is_json({{.name = "content-type", .value = std::move(type)}}); };
  EXPECT_TRUE(is("application/json"));
  EXPECT_TRUE(is("Application/JSON ; charset=utf-8"));
  for (const std::string type : {"", "text/plain", "application/jsonp", "text/plain; application/json"})
    EXPECT_FALSE(is(type));
  EXPECT_FALSE(is_json({}));
}

}  // namespace
}  // namespace carillon::server
