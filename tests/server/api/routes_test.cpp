// The table of routes as a whole: what it says of itself, and that the reference has all of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/json.h"
#include "server/api/api.h"
#include "server/api/openapi.h"
#include "store/memory/memory_store.h"
#include "store/transactional_store.h"
#include "support/results.h"

namespace carillon::server {
namespace {

using test::value_of;

// An API whose engine does not run: enough to look at its table, and to ask what needs no engine.
class RoutesTest : public ::testing::Test {
 protected:
  RoutesTest()
      : store_(make_store(make_memory_backend(system_store_clock()), system_store_clock())),
        host_(*store_, {.engine = {.max_concurrency = 1, .leave_unhandled = true}}),
        pool_({}),
        services_{.host = host_,
                  .keys = keys_,
                  .sessions = sessions_,
                  .tenants = tenants_,
                  .events = events_,
                  .pool = pool_,
                  .body_pool = pool_,
                  .large_pool = pool_,
                  .open_pool = pool_,
                  .hook_pool = pool_,
                  .timers = timers_,
                  .handlers = handlers_,
                  .hooks = hooks_,
                  .quotas = quotas_,
                  .guard = guard_},
        api_(services_) {}

  // The status with which a head is refused; 0: it is admitted.
  int asked(Method method, std::string path, std::vector<std::string> segments, std::string_view key = {}) {
    HttpRequest head{.method = method, .path = std::move(path), .segments = std::move(segments)};
    if (!key.empty()) head.headers.push_back({.name = "authorization", .value = "Bearer " + std::string(key)});
    std::size_t body_max = 0;
    const auto refused = api_.on_head(head, body_max);
    return refused ? refused->status : 0;
  }

  std::string key_of(Scope scope, TenantSet tenants) {
    NewKey made = make_key("k", scope, services_.now());
    made.key.tenants = std::move(tenants);
    keys_.put(made.key);
    return made.text;
  }

 private:
  std::unique_ptr<Store> store_;
  EngineHost host_;
  KeyRing keys_;
  Sessions sessions_;
  Tenants tenants_;
  EventHub events_;
  HandlerBook handlers_;
  TenantBook<HookConfig> hooks_;
  QuotaBook quotas_;
  Replaceable<AddressGuard> guard_;
  Timers timers_;
  WorkPool pool_;
  Services services_;

 protected:
  Api api_;
};

// The matrix of callers and spellings is made from the reference: a route that is not in it would not be tried.
TEST_F(RoutesTest, TheReferenceHasEveryRouteOfTheTable) {
  const std::string text = openapi_of(api_.table());
  const Json document = value_of(parse_json(text));
  const Json* const paths = document.find("paths");
  ASSERT_NE(paths, nullptr);
  std::set<std::pair<std::string, std::string>> told;
  for (const JsonMember& path : paths->members) {
    for (const JsonMember& operation : path.value.members) told.emplace(operation.key, path.key);
  }
  std::set<std::pair<std::string, std::string>> there;
  for (const Route& route : api_.table()) {
    std::string method(to_string(route.method));
    for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
    EXPECT_TRUE(there.emplace(method, route.path).second) << method << " " << route.path << " stands twice";
  }
  EXPECT_EQ(told, there);
}

TEST_F(RoutesTest, ARouteIsAboutTheTenantThatItsPathNames) {
  for (const Route& route : api_.table()) {
    EXPECT_EQ(route.about == About::one_tenant, route.path.starts_with("/v1/tenants/{tenant}")) << route.path;
    // What belongs to no tenant is not changed by keys of some of them.
    const bool changes_all = route.about == About::server && route.method != Method::get;
    EXPECT_TRUE(!changes_all || route.needs == Needs::admin) << route.path;
  }
}

TEST_F(RoutesTest, DotsAndNothingNameNothing) {
  const std::string key = key_of(Scope::admin, TenantSet::all());
  EXPECT_EQ(asked(Method::get, "/v1/tenants/default/jobs", {"v1", "tenants", "default", "jobs"}, key), 0);
  for (const std::string name : {".", "..", ""}) {
    EXPECT_EQ(asked(Method::get, "/v1/tenants/" + name + "/jobs", {"v1", "tenants", name, "jobs"}, key), 404) << name;
    EXPECT_EQ(asked(Method::get, "/v1/tenants/" + name + "/jobs", {"v1", "tenants", name, "jobs"}), 401) << name;
  }
}

TEST_F(RoutesTest, AKeyOfNobodyReachesNobody) {
  const std::string key = key_of(Scope::tenant, TenantSet());
  EXPECT_EQ(asked(Method::get, "/v1/tenants", {"v1", "tenants"}, key), 403);
  EXPECT_EQ(asked(Method::post, "/v1/leases", {"v1", "leases"}, key), 403);
  EXPECT_EQ(asked(Method::get, "/v1/tenants/default/jobs", {"v1", "tenants", "default", "jobs"}, key), 404);
}

}  // namespace
}  // namespace carillon::server
