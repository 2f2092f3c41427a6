// What workers outside can make the engine keep by what they name: bounded, whatever they choose.
#include "engine/pulls/name_set.h"
#include "engine/support/pull_test.h"

namespace carillon::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAreArray;
using ::testing::Field;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

// ---- Sets of names ----

TEST(NameSets, HaveEachNameOnceInWhateverOrderTheyWereGiven) {
  const NameSet names{"b", "", "a", "b", "ab"};
  EXPECT_EQ(names.size(), 4U);
  for (const char* const name : {"", "a", "ab", "b"}) EXPECT_TRUE(names.contains(name)) << name;
  for (const char* const name : {"c", "aa", "abb", "ba"}) EXPECT_FALSE(names.contains(name)) << name;
  EXPECT_EQ(names, NameSet(std::vector<std::string>{"ab", "a", "b", ""}));
  // The same text, cut elsewhere.
  EXPECT_NE(NameSet({"a", "bc"}), NameSet({"ab", "c"}));
  EXPECT_NE(NameSet({"a"}), NameSet());
  EXPECT_LT(NameSet(), NameSet({""}));
  EXPECT_TRUE(NameSet().is_any_or_has("a"));
  EXPECT_FALSE(names.is_any_or_has("c"));
}

TEST(NameSets, TakeAboutWhatTheirNamesTake) {
  std::vector<std::string> many;
  for (int i = 1000; i < 2000; ++i) many.push_back(std::to_string(i));
  EXPECT_LT(NameSet(many).bytes(), 1000U * (4 + 4) + 200);
}

// ---- Workers ----

PullWorkers::Key worker_of(std::string_view tenant, int number) {
  return {.tenants = {tenant}, .name = std::to_string(number)};
}

PullFilter many_names(std::string_view tenant, int number) {
  std::vector<std::string> types;
  for (int i = 0; i < 1000; ++i) types.push_back(std::to_string(number) + std::string(90, 'x') + std::to_string(i));
  return {.tenants = {tenant}, .types = types};
}

TEST(WorkersOutside, ManyOfOneTenantPushOutTheirOwnAlone) {
  PullWorkers workers;
  const Instant now = at("2026-03-02T12:00:00Z");
  workers.seen(worker_of("a", 0), now);
  workers.seen(worker_of("z", 0), now);
  workers.leased(worker_of("bad", 1), "bad");
  for (int i = 0; i < 11'000; ++i) workers.seen(worker_of("bad", i), now);
  EXPECT_THAT(workers.list({}, now), SizeIs(Le(PullWorkers::kWorkersMax)));
  EXPECT_THAT(workers.list({"a"}, now), SizeIs(1));
  EXPECT_THAT(workers.list({"z"}, now), SizeIs(1));
  const auto left = workers.list({"bad"}, now);
  EXPECT_THAT(left, Contains(Field(&PullWorker::name, "1"))) << "it holds something";
  EXPECT_THAT(left, Contains(Field(&PullWorker::name, "10999")));
  EXPECT_THAT(left, Not(Contains(Field(&PullWorker::name, "0"))));
}

TEST(WorkersOutside, WhatTheyAskForIsKeptUpToABound) {
  PullWorkers workers;
  const Instant now = at("2026-03-02T12:00:00Z");
  const BootTime boot{std::chrono::minutes(1)};
  workers.seen(worker_of("good", 0), now);
  workers.asked(worker_of("good", 0), {.tenants = {"good"}, .types = {"mail"}}, boot);
  for (int i = 0; i < 300; ++i) {
    workers.seen(worker_of("bad", i), now);
    workers.asked(worker_of("bad", i), many_names("bad", i), boot);
    ASSERT_LE(workers.filter_bytes(), PullWorkers::kFilterBytesMax);
  }
  EXPECT_GT(workers.filter_bytes(), PullWorkers::kFilterBytesMax / 2);
  EXPECT_TRUE(workers.has_one_for({.tenant = "good", .queue = "default", .type = "mail"}, boot));
  const std::string last = "299" + std::string(90, 'x') + "7";
  EXPECT_TRUE(workers.has_one_for({.tenant = "bad", .queue = "default", .type = last}, boot));
  // Who asks for ever other things keeps the last of these.
  for (int i = 0; i < 300; ++i) workers.asked(worker_of("good", 0), many_names("good", i), boot);
  EXPECT_LE(workers.filter_bytes(), PullWorkers::kFilterBytesMax);
  EXPECT_FALSE(workers.has_one_for({.tenant = "good", .queue = "default", .type = "mail"}, boot));
  EXPECT_TRUE(workers.has_one_for({.tenant = "good", .queue = "default", .type = last}, boot));
}

TEST(WorkersOutside, WhoHoldsSomethingStaysAndGoesAnHourAfter) {
  PullWorkers workers;
  const Instant now = at("2026-03-02T12:00:00Z");
  workers.seen(worker_of("a", 1), now);
  workers.leased(worker_of("a", 1), "a");
  workers.leased(worker_of("a", 1), "a");
  workers.seen(worker_of("a", 2), now + 2h);
  EXPECT_THAT(workers.list({"a"}, now + 2h), SizeIs(2));
  workers.ended(worker_of("a", 1), "a");
  EXPECT_EQ(workers.list({"a"}, now + 2h).front().leases, 1U);
  workers.ended(worker_of("a", 1), "a");
  workers.ended(worker_of("a", 1), "a");
  workers.seen(worker_of("a", 2), now + 2h);
  EXPECT_THAT(workers.list({"a"}, now + 2h), SizeIs(1));
}

// ---- Those who wait ----

class PullBounds : public Pulls {
 protected:
  PullAnswer ask_for(const std::string& tenant, const std::string& type) {
    return node.ask({.filter = {.tenants = {tenant}, .types = {type}}, .wait = 30s});
  }
};

OVER_EVERY_STORE(PullBounds);

TEST_P(PullBounds, SoManyDifferentFiltersOfATenantWait) {
  std::vector<PullAnswer> waits;
  for (std::size_t i = 0; i < PullDesk::kFiltersWaitingMax; ++i) {
    waits.push_back(ask_for("a", std::to_string(i)));
    ASSERT_FALSE(waits.back().is_there());
  }
  const PullAnswer refused = ask_for("a", "one-more");
  ASSERT_TRUE(refused.is_there());
  EXPECT_TRUE(is_for_want_of_place(refused.error()));
  // The same as somebody else's takes nothing, nor does another tenant's.
  EXPECT_FALSE(ask_for("a", "7").is_there());
  EXPECT_FALSE(ask_for("b", "one-more").is_there());
  // Who leaves makes room.
  EXPECT_TRUE(node.pulls().forget(waits[3].id));
  const PullAnswer later = ask_for("a", "one-more");
  EXPECT_FALSE(later.is_there());
  enqueue({.type = "one-more", .tenant = "a"});
  node->settle_down();
  ASSERT_TRUE(later.is_there());
  EXPECT_THAT(later.jobs(), SizeIs(1));
}

TEST_P(PullBounds, FiltersThatNobodyWaitsWithAreForgotten) {
  for (int round = 0; round < 10; ++round) {
    std::vector<PullAnswer> waits;
    for (int i = 0; i < 200; ++i) waits.push_back(ask_for("a", std::to_string(round * 200 + i)));
    for (const PullAnswer& one : waits) EXPECT_TRUE(node.pulls().forget(one.id));
  }
  EXPECT_FALSE(ask_for("a", "last").is_there());
  EXPECT_LE(node->node().desk().group_count(), 100U);
  // One that is known still is served as before.
  const PullAnswer again = ask_for("a", "1999");
  enqueue({.type = "1999", .tenant = "a"});
  node->settle_down();
  ASSERT_TRUE(again.is_there());
  EXPECT_THAT(again.jobs(), SizeIs(1));
}

// A filter that is new is looked up among the places of its tenants; one that waits sees each place as it comes.
TEST_P(PullBounds, AFilterMeansTheSamePlacesWheneverItCame) {
  const std::vector<PullFilter> filters{{},
                                        {.types = {"t1"}},
                                        {.tenants = {"a"}},
                                        {.tenants = {"a", "c", "none"}},
                                        {.tenants = {"a"}, .queues = {"q1", "q2", "none"}},
                                        {.tenants = {"a", "b"}, .queues = {"q0"}},
                                        {.tenants = {"a"}, .types = {"none", "t0", "t3"}},
                                        {.tenants = {"b"}, .queues = {"q1"}, .types = {"t1", "t2"}},
                                        {.tenants = {"none"}}};
  const Dispatcher& dispatcher = node->node().dispatcher();
  enqueue({.type = "first", .tenant = "a"});
  node->settle_down();
  std::vector<PullView> early;
  for (const PullFilter& filter : filters) dispatcher.look_for_places(early.emplace_back(filter));
  for (const char* const tenant : {"a", "b", "c"}) {
    for (const char* const queue : {"q0", "q1", "q2"}) {
      for (const char* const type : {"t0", "t1", "t2", "t3"}) {
        enqueue({.type = type, .tenant = tenant, .queue = queue});
      }
    }
  }
  node->settle_down();
  for (PullView& view : early) {
    dispatcher.look_for_places(view);
    PullView late(view.filter());
    dispatcher.look_for_places(late);
    EXPECT_THAT(late.places(), ElementsAreArray(view.places()));
    for (const PlaceId place : view.places()) EXPECT_TRUE(late.contains(place));
  }
  const std::vector<std::size_t> expected{37, 9, 13, 25, 8, 8, 6, 2, 0};
  for (std::size_t i = 0; i < filters.size(); ++i) EXPECT_EQ(early[i].places().size(), expected[i]) << i;
}

}  // namespace
}  // namespace carillon::test
