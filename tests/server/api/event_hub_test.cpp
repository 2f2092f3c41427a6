#include "server/api/event_hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <latch>
#include <string>
#include <vector>

#include "core/jobs/job_id.h"

namespace carillon::server {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr auto kPatience = 30s;

// A client that reads when it is told to.
class FakeStream final : public Stream {
 public:
  bool write(std::string text) override {
    const std::scoped_lock lock(mutex_);
    if (over_) return false;
    unsent_ += text.size();
    text_ += text;
    ++writes_;
    changed_.notify_all();
    return true;
  }
  void end() override { finish(false); }
  void cut() override { finish(true); }
  bool is_over() const override {
    const std::scoped_lock lock(mutex_);
    return over_;
  }
  std::size_t unsent() const override {
    const std::scoped_lock lock(mutex_);
    return reads_ ? 0 : unsent_;
  }

  void read_nothing() {
    const std::scoped_lock lock(mutex_);
    reads_ = false;
  }
  // Until it was told that; whether it was.
  bool was_told(const std::string& what) {
    return wait([&] { return text_.contains(what); });
  }
  bool was_cut() {
    return wait([&] { return cut_; });
  }
  std::string text() const {
    const std::scoped_lock lock(mutex_);
    return text_;
  }
  std::size_t writes() const {
    const std::scoped_lock lock(mutex_);
    return writes_;
  }

 private:
  template <typename Is>
  bool wait(Is is) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, is);
  }
  void finish(bool cut) {
    const std::scoped_lock lock(mutex_);
    over_ = true;
    cut_ = cut_ || cut;
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  std::size_t unsent_ = 0;
  std::size_t writes_ = 0;
  bool reads_ = true;
  bool over_ = false;
  bool cut_ = false;
};

Caller caller(std::string key, std::vector<std::string> tenants = {}) {
  return {.id = std::move(key),
          .scope = Scope::read,
          .tenants = tenants.empty() ? TenantSet::all() : TenantSet::of(std::move(tenants))};
}

std::shared_ptr<FakeStream> opened(EventHub& hub, const Caller& by) {
  auto stream = std::make_shared<FakeStream>();
  EXPECT_EQ(hub.add(by, [&] { return stream; }), EventHub::Room::found);
  return stream;
}

JobId job(std::int64_t number) { return JobId{.value = number + 1}; }

Event changed(std::int64_t number, std::string tenant, JobState state = JobState::queued) {
  return {.at = {}, .body = JobChanged{.job = job(number), .tenant = std::move(tenant), .state = state}};
}

Event deferred(std::string tenant, std::string reason) {
  return {.at = {},
          .body = Deferred{.job = job(1), .tenant = std::move(tenant), .reason = std::move(reason), .until = {}}};
}

TEST(EventHub, AStreamIsToldWhatItsCallerMaySee) {
  EventHub hub;
  const auto all = opened(hub, caller("admin"));
  const auto acme = opened(hub, caller("acme", {"acme"}));
  hub.hear(deferred("other", "first"));
  hub.hear({.at = {}, .body = QueueDepth{.depth = 7}});
  hub.hear(deferred("acme", "second"));
  EXPECT_TRUE(acme->was_told("second"));
  EXPECT_THAT(acme->text(), Not(HasSubstr("first")));
  EXPECT_THAT(acme->text(), Not(HasSubstr("sched.queue.depth")));
  EXPECT_TRUE(all->was_told("second"));
  EXPECT_THAT(all->text(), HasSubstr("first"));
  EXPECT_THAT(all->text(), HasSubstr("sched.queue.depth"));
}

TEST(EventHub, AJobThatIsPickedIsToldAsOneThatRuns) {
  EventHub hub;
  const auto stream = opened(hub, caller("acme", {"acme"}));
  hub.hear({.at = {}, .body = JobPicked{.job = job(1), .tenant = "acme", .type = "work", .lateness = {}}});
  EXPECT_TRUE(stream->was_told("event: job.changed"));
  EXPECT_THAT(stream->text(), HasSubstr("event: job.picked"));
  EXPECT_THAT(stream->text(), HasSubstr("processing"));
}

TEST(EventHub, ManyEventsAreToldInOrderAndInFewWrites) {
  EventHub hub;
  const auto stream = opened(hub, caller("admin"));
  for (int i = 0; i < 5'000; ++i) hub.hear(deferred("acme", "number " + std::to_string(i) + "."));
  EXPECT_TRUE(stream->was_told("number 4999."));
  const std::string text = stream->text();
  std::size_t at = 0;
  for (int i = 0; i < 5'000; ++i) {
    at = text.find("number " + std::to_string(i) + ".", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_LT(stream->writes(), 500U);
  EXPECT_THAT(text, Not(HasSubstr("events.lost")));
}

TEST(EventHub, WhenTheRingIsFullStreamsAreToldThatEventsWereLost) {
  EventHub hub({.ring_events = 4});
  const auto stream = opened(hub, caller("acme", {"acme"}));
  // While a waiter is called nothing is taken out of the ring.
  std::latch held(1);
  std::latch go_on(1);
  hub.when_final(job(7), [&] {
    held.count_down();
    go_on.wait();
  });
  hub.hear(changed(7, "acme", JobState::done));
  held.wait();
  for (int i = 0; i < 100; ++i) hub.hear(deferred("acme", "too many"));
  go_on.count_down();
  EXPECT_TRUE(stream->was_told("event: events.lost"));
  hub.hear(deferred("acme", "afterwards"));
  EXPECT_TRUE(stream->was_told("afterwards"));
}

TEST(EventHub, WhoWaitsForAJobHearsOfItsEndHoweverManyEventsAreLost) {
  EventHub hub({.ring_events = 1});
  const auto stream = opened(hub, caller("admin"));
  constexpr std::int64_t kJobs = 1'000;
  std::latch ended(kJobs);
  for (std::int64_t i = 0; i < kJobs; ++i) hub.when_final(job(i), [&] { ended.count_down(); });
  for (std::int64_t i = 0; i < kJobs; ++i) hub.hear(changed(i, "acme", JobState::done));
  ended.wait();
  EXPECT_TRUE(stream->was_told("event: events.lost"));
}

TEST(EventHub, WhoIsForgottenIsNotCalled) {
  EventHub hub;
  std::latch second(1);
  const std::uint64_t first = hub.when_final(job(1), [] { FAIL() << "was forgotten"; });
  hub.when_final(job(1), [&] { second.count_down(); });
  hub.forget(first);
  hub.hear(changed(1, "acme", JobState::queued));
  hub.hear(changed(1, "acme", JobState::done));
  second.wait();
}

TEST(EventHub, AKeyHasNoMoreStreamsThanItMay) {
  EventHub hub({.streams_of_key = 2, .streams_max = 3});
  const auto opens = [] { return std::make_shared<FakeStream>(); };
  const auto first = opened(hub, caller("one"));
  opened(hub, caller("one"));
  EXPECT_EQ(hub.add(caller("one"), opens), EventHub::Room::key_has_enough);
  EXPECT_EQ(hub.add(caller("two"), opens), EventHub::Room::found);
  EXPECT_EQ(hub.add(caller("three"), opens), EventHub::Room::all_taken);
  // A place is free as soon as its client is gone.
  first->end();
  EXPECT_EQ(hub.add(caller("one"), opens), EventHub::Room::found);
  EXPECT_EQ(hub.streams(), 3U);
}

TEST(EventHub, AStreamThatIsNotReadIsGivenNoMoreThanItsShareAndThenCutOff) {
  EventHub hub({.backlog_bytes = std::size_t{256} << 10U, .unsent_of_stream = std::size_t{64} << 10U});
  const auto unread = opened(hub, caller("acme", {"acme"}));
  unread->read_nothing();
  const auto read = opened(hub, caller("admin"));
  const std::string long_reason(1'000, 'x');
  int told = 0;
  // As many as are needed: more than the share and the backlog can hold.
  for (; told < 100'000 && !unread->is_over(); ++told) {
    hub.hear(deferred("acme", long_reason + std::to_string(told) + "."));
    if (told % 100 == 0) {
      ASSERT_TRUE(read->was_told(std::to_string(told) + "."));
    }
  }
  EXPECT_TRUE(unread->was_cut());
  EXPECT_LT(unread->text().size(), std::size_t{64 + 64 + 8} << 10U);
  hub.hear(deferred("acme", "afterwards"));
  EXPECT_TRUE(read->was_told("afterwards"));
  EXPECT_THAT(read->text(), Not(HasSubstr("events.lost")));
}

TEST(EventHub, ManyStreamsShareWhatMayBeUnsent) {
  EventHub hub({.backlog_bytes = std::size_t{4} << 20U, .unsent_bytes = std::size_t{100} << 10U});
  std::vector<std::shared_ptr<FakeStream>> streams;
  for (int i = 0; i < 20; ++i) {
    streams.push_back(opened(hub, caller("key", {"acme"})));
    streams.back()->read_nothing();
  }
  const auto read = opened(hub, caller("admin"));
  for (int i = 0; i < 2'000; ++i) hub.hear(deferred("acme", std::string(500, 'x')));
  hub.hear(deferred("acme", "the last one"));
  EXPECT_TRUE(read->was_told("the last one"));
  // Each has its share, and at most one turn beyond it.
  for (const auto& stream : streams) EXPECT_LT(stream->text().size(), std::size_t{5 + 64 + 1} << 10U);
}

TEST(EventHub, ATenantWithManyStreamsDoesNotDelayTheEventsOfAnother) {
  // So slow that all of acme's would take minutes.
  EventHub hub({.round_bytes = std::size_t{16} << 10U});
  std::vector<std::shared_ptr<FakeStream>> many;
  for (int i = 0; i < 30; ++i) many.push_back(opened(hub, caller("acme", {"acme"})));
  const auto other = opened(hub, caller("other", {"other"}));
  for (int i = 0; i < 10'000; ++i) hub.hear(deferred("acme", std::string(500, 'x')));
  hub.hear(deferred("acme", "the last of acme"));
  hub.hear(deferred("other", "told at once"));
  EXPECT_TRUE(other->was_told("told at once"));
  EXPECT_THAT(other->text(), Not(HasSubstr("events.lost")));
  EXPECT_THAT(many.back()->text(), Not(HasSubstr("the last of acme")));
}

TEST(EventHub, QuietStreamsAreKeptOpen) {
  EventHub hub;
  const auto stream = opened(hub, caller("acme", {"acme"}));
  hub.keep_alive();
  EXPECT_TRUE(stream->was_told(": still here"));
}

TEST(EventHub, WhenItIsClosedStreamsEndAndWaitersAreStillCalled) {
  EventHub hub;
  const auto stream = opened(hub, caller("acme", {"acme"}));
  std::latch ended(1);
  hub.when_final(job(1), [&] { ended.count_down(); });
  hub.close();
  EXPECT_TRUE(stream->is_over());
  EXPECT_EQ(hub.add(caller("acme"), [] { return std::make_shared<FakeStream>(); }), EventHub::Room::all_taken);
  hub.hear(changed(1, "acme", JobState::cancelled));
  ended.wait();
}

}  // namespace
}  // namespace carillon::server
