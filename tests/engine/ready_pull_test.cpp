// Workers outside beside handlers, over one ready set: whatever the order, caps hold and nothing is lost or given
// twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "engine/ready/ready_set.h"
#include "engine/ready_times.h"

namespace carillon::test {
namespace {

// A random life of a ready set whose lines stand, wait for limits, or are served by nobody.
class ReadyPull : public ::testing::TestWithParam<unsigned> {
 protected:
  static constexpr std::uint32_t kTenantCap = 4;
  static constexpr std::uint32_t kQueueCap = 3;
  static constexpr std::uint32_t kLimit = 2;

  ReadyPull() {
    for (const char* tenant : {"a", "b"}) {
      for (const char* queue : {"q", "r"}) {
        for (const std::int64_t type : {1, 2}) {
          for (const bool limited : {false, true}) {
            places.push_back(
                ready.place({.tenant = tenant,
                             .queue = queue,
                             .type = {type},
                             .limits = limited ? std::vector<std::string>{"x"} : std::vector<std::string>(),
                             .notifies = limited}));
          }
        }
      }
    }
    ready.set_tenant_cap("a", kTenantCap);
    ready.set_queue_cap("b", "q", kQueueCap);
    ready.set_limit("", "x", LimitRule{.concurrency = kLimit}, kNow);
  }

  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random); }

  void add() {
    const ReadyEntry entry{.id = JobId{++last},
                           .run_at = kNow - std::chrono::seconds(below(100)),
                           .priority = static_cast<std::uint8_t>(1 + below(5))};
    ready.add(places[below(places.size())], entry);
    waiting.insert(entry.id);
  }

  void started(const ReadySet::Pick& pick, bool outside) {
    ASSERT_EQ(waiting.erase(pick.entry.id), 1U);
    running.emplace_back(pick, outside);
    std::size_t of_a = 0;
    std::size_t of_b_q = 0;
    std::size_t limited = 0;
    for (const auto& [one, is_outside] : running) {
      const ReadyPlace& place = ready.place(one.place);
      of_a += place.tenant == "a" ? 1U : 0U;
      of_b_q += place.tenant == "b" && place.queue == "q" ? 1U : 0U;
      limited += place.limits.empty() ? 0U : 1U;
    }
    EXPECT_LE(of_a, kTenantCap);
    EXPECT_LE(of_b_q, kQueueCap);
    EXPECT_LE(limited, kLimit);
  }

  void pull() {
    std::vector<PlaceId> some;
    for (const PlaceId place : places) {
      if (below(3) > 0) some.push_back(place);
    }
    const bool served_too = below(2) == 0;
    const std::size_t limit = 1 + below(3);
    const auto pulled = ready.pull({.places = some, .served_too = served_too, .limit = limit}, kNow);
    EXPECT_LE(pulled.picks.size(), limit);
    for (const ReadySet::Pick& pick : pulled.picks) {
      EXPECT_NE(std::ranges::find(some, pick.place), some.end());
      EXPECT_TRUE(served_too || ready.place(pick.place).type.value == closed);
      started(pick, true);
    }
  }

  void end_one() {
    if (running.empty()) return;
    const std::size_t which = below(running.size());
    const auto [pick, outside] = running[which];
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
    switch (below(3)) {
      case 0: ready.ended(pick.place, kNow); break;
      case 1:
        if (outside) {
          ready.pulled_back(pick, ReadySet::Entry::is_gone, kNow);
        } else {
          ready.drop(pick, kNow);
        }
        break;
      default:
        waiting.insert(pick.entry.id);
        if (outside) {
          ready.pulled_back(pick, ReadySet::Entry::stands_again, kNow);
        } else {
          ready.put_back(pick, kNow);
        }
    }
  }

  void close_another_type() {
    ready.set_type_closed("a", {closed}, false);
    ready.set_type_closed("b", {closed}, false);
    closed = static_cast<std::int64_t>(below(3));  // 0: none that there is
    ready.set_type_closed("a", {closed}, true);
    ready.set_type_closed("b", {closed}, true);
  }

 public:
  ReadySet ready;
  std::vector<PlaceId> places;
  std::mt19937 random{GetParam()};
  std::int64_t last = 0;
  std::int64_t closed = 0;
  std::set<JobId> waiting;
  std::vector<std::pair<ReadySet::Pick, bool>> running;
};

INSTANTIATE_TEST_SUITE_P(Seeds, ReadyPull, ::testing::Range(1U, 21U));

TEST_P(ReadyPull, NothingIsLostOrGivenTwiceAndCapsHold) {  // invariant 6
  for (int step = 0; step < 2000; ++step) {
    switch (below(8)) {
      case 0:
      case 1: add(); break;
      case 2:
      case 3: pull(); break;
      case 4:
        if (const auto pick = ready.pick(kNow)) {
          EXPECT_NE(ready.place(pick->place).type.value, closed);
          started(*pick, false);
        }
        break;
      case 5:
      case 6: end_one(); break;
      default:
        if (below(10) == 0) close_another_type();
    }
    ASSERT_EQ(ready.size(), waiting.size());
    ASSERT_EQ(ready.running(), running.size());
  }
  // All of it comes out in the end, by either way.
  while (!running.empty()) {
    ready.ended(running.back().first.place, kNow);
    running.pop_back();
  }
  while (!waiting.empty()) {
    std::vector<ReadySet::Pick> picks = ready.pull({.places = places, .served_too = true, .limit = 1}, kNow).picks;
    if (below(2) == 0) {
      if (const auto pick = ready.pick(kNow)) picks.push_back(*pick);
    }
    ASSERT_FALSE(picks.empty());
    for (const ReadySet::Pick& pick : picks) {
      ASSERT_EQ(waiting.erase(pick.entry.id), 1U);
      ready.ended(pick.place, kNow);
    }
  }
  EXPECT_EQ(ready.size(), 0U);
  EXPECT_EQ(ready.running(), 0U);
}

TEST(ReadyPullTest, ThoseWhoWatchLearnWhatCameAndWhatOpened) {
  ReadySet ready;
  const PlaceId here = ready.place({.tenant = "a", .queue = "q", .type = {1}});
  const PlaceId there = ready.place({.tenant = "b", .queue = "q", .type = {1}});
  ready.add(here, {.id = JobId{1}, .run_at = kNow});
  EXPECT_THAT(ready.take_arrivals(), ::testing::IsEmpty());
  ready.watch(true);
  ready.add(there, {.id = JobId{2}, .run_at = kNow});
  ready.add(there, {.id = JobId{3}, .run_at = kNow});
  EXPECT_THAT(ready.take_arrivals(), ::testing::ElementsAre(there));
  EXPECT_THAT(ready.take_arrivals(), ::testing::IsEmpty());

  ready.set_tenant_cap("a", 1);
  const std::uint64_t before = ready.openings();
  const auto pick = ready.pick(kNow);
  EXPECT_EQ(ready.openings(), before);
  ready.ended(pick.value().place, kNow);
  EXPECT_NE(ready.openings(), before);
}

}  // namespace
}  // namespace carillon::test
