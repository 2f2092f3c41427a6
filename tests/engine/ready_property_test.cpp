// Whatever is done to a ready set, it starts only what may start, and something whenever something may.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/ready/ready_set.h"
#include "engine/ready_model.h"
#include "engine/ready_times.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::kNow;
using test::ReadyModel;

template <typename T>
T draw(T low, T high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(low, high + 1));
}

bool one_in(int n) { return draw(1, n) == 1; }

std::string any_tenant() { return draw(0, 2) == 0 ? "a" : one_in(3) ? "c" : "b"; }
std::string any_queue() { return one_in(2) ? "q" : "r"; }
std::string any_limit() { return one_in(2) ? "x" : "y"; }

ReadyPlace any_place() {
  static const std::vector<std::vector<std::string>> choices{{}, {"x"}, {"y"}, {"x", "y"}, {"y", "x", "y"}};
  return {.tenant = any_tenant(),
          .queue = any_queue(),
          .type = {draw<std::int64_t>(1, 2)},
          .limits = choices[draw<std::size_t>(0, choices.size() - 1)],
          .notifies = one_in(3)};
}

std::optional<std::uint32_t> any_cap() {
  if (one_in(3)) return std::nullopt;
  return static_cast<std::uint32_t>(draw(0, 4));
}

std::optional<LimitRule> any_rule() {
  if (one_in(4)) return std::nullopt;
  LimitRule rule;
  if (one_in(2)) rule.rate = draw(1, 8) / 2.0;
  if (one_in(2)) rule.burst = draw(1, 3);
  if (one_in(2)) rule.concurrency = static_cast<std::uint32_t>(one_in(3) ? draw(4, 12) : draw(0, 3));
  return rule;
}

template <typename Set, typename Key>
void put_if(Set& set, const Key& key, bool should) {
  if (should) {
    set.insert(key);
  } else {
    set.erase(key);
  }
}

template <typename Map, typename Key>
void set_cap(Map& caps, const Key& key, std::optional<std::uint32_t> cap) {
  caps.erase(key);
  if (cap) caps.emplace(key, *cap);
}

// Does the same to the set and to its model.
class Player {
 public:
  void step() {
    const int what = draw(0, 99);
    if (what < 30) return add();
    if (what < 65) return pick();
    if (what < 80) return finish();
    if (what < 90) return change_rule();
    if (what < 97) return pass_time();
    adopt();
  }

  void end_everything() {
    while (!running_.empty()) {
      ready_.ended(ready_.place(running_.back()), now_);
      model_.end(running_.back());
      running_.pop_back();
    }
    RC_ASSERT(ready_.running() == 0U);
  }

  // Starts until nothing may start.
  void drain() {
    while (pick_one()) {
    }
  }

  void open_everything() {
    ready_.set_all_closed(false);
    model_.all_closed = false;
    for (const std::string tenant : {"", "a", "b", "c"}) {
      for (const std::string name : {"x", "y"}) set_limit(tenant, name, std::nullopt);
      if (tenant.empty()) continue;
      ready_.set_tenant_closed(tenant, false);
      ready_.set_quiet(tenant, false);
      ready_.set_tenant_cap(tenant, std::nullopt);
      for (const std::string queue : {"q", "r"}) {
        ready_.set_queue_closed(tenant, queue, false);
        ready_.set_queue_cap(tenant, queue, std::nullopt);
      }
    }
    ready_.set_type_closed({1}, false);
    ready_.set_type_closed({2}, false);
    model_.closed_tenants.clear();
    model_.quiet_tenants.clear();
    model_.closed_queues.clear();
    model_.closed_types.clear();
    model_.tenant_caps.clear();
    model_.queue_caps.clear();
  }

  std::size_t left() const { return ready_.size(); }

  void check_counts() {
    RC_ASSERT(ready_.size() == model_.size());
    RC_ASSERT(ready_.running() == model_.running().size());
    RC_ASSERT(ready_.size("a") + ready_.size("b") + ready_.size("c") == ready_.size());
    RC_ASSERT(ready_.running("a") + ready_.running("b") + ready_.running("c") == ready_.running());
  }

 private:
  void add() {
    const ReadyPlace place = any_place();
    const ReadyEntry entry{.id = {++last_id_},
                           .run_at = kNow - std::chrono::seconds(draw(0, 5)),
                           .priority = static_cast<std::uint8_t>(draw(1, 5))};
    ready_.add(ready_.place(place), entry);
    model_.add(place, entry);
  }

  std::optional<ReadySet::Pick> pick_one() {
    const auto pick = ready_.pick(now_);
    if (!pick) {
      RC_ASSERT(!model_.may_anything_start(now_));
      check_next_opening();
      return pick;
    }
    const ReadyPlace& place = ready_.place(pick->place);
    RC_ASSERT(model_.may_start(place, pick->entry, now_));  // invariant 6
    model_.start(place, pick->entry, now_);
    running_.push_back(place);
    return pick;
  }

  // Who sleeps until then misses nothing.
  void check_next_opening() {
    const auto expected = model_.next_opening(now_);
    if (!expected) return;
    const auto opening = ready_.next_opening(now_);
    RC_ASSERT(opening.has_value());
    RC_ASSERT(*opening > now_);
    RC_ASSERT((*opening - *expected).count() <= 0);  // microseconds
  }

  void pick() {
    const auto pick = pick_one();
    if (!pick || one_in(2)) return;
    const ReadyPlace place = ready_.place(pick->place);
    running_.pop_back();
    model_.give_back(place, now_);
    if (one_in(2)) {
      ready_.drop(*pick, now_);
    } else {
      ready_.put_back(*pick, now_);
      model_.add(place, pick->entry);
    }
  }

  void finish() {
    if (running_.empty()) return;
    const std::size_t index = draw<std::size_t>(0, running_.size() - 1);
    const ReadyPlace place = running_[index];
    const PlaceId id = ready_.place(place);
    if (one_in(5)) {
      const Instant until = now_ + std::chrono::milliseconds(draw(0, 3000));
      const std::string limit = one_in(3) ? "" : any_limit();
      const bool may_teach_global = one_in(2);
      ready_.rate_limited(id, limit, until, now_, may_teach_global);
      model_.rate_limited(place, limit, until, now_, may_teach_global);
    }
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
    if (one_in(3)) {
      ready_.gave_back(id, now_);
      model_.give_back(place, now_);
    } else {
      ready_.ended(id, now_);
      model_.end(place);
    }
  }

  void adopt() {
    const ReadyPlace place = any_place();
    ready_.adopt(ready_.place(place), now_);
    model_.adopt(place);
    running_.push_back(place);
  }

  void pass_time() { now_ += std::chrono::milliseconds(draw(0, 1500)); }

  void set_limit(const std::string& tenant, const std::string& name, const std::optional<LimitRule>& rule) {
    ready_.set_limit(tenant, name, rule, now_);
    model_.set_limit({tenant, name}, rule, now_);
  }

  void set_weight(const std::string& tenant, std::uint32_t weight) {
    ready_.set_weight(tenant, weight, now_);
    model_.weights[tenant] = weight;
  }

  void change_rule() {
    const std::string tenant = any_tenant();
    model_.tenants.insert(tenant);
    ready_.know_tenant(tenant);
    const std::string queue = any_queue();
    const bool closed = one_in(3);
    switch (draw(0, 8)) {
      case 0:
        ready_.set_all_closed(closed);
        model_.all_closed = closed;
        return;
      case 1: ready_.set_tenant_closed(tenant, closed); return put_if(model_.closed_tenants, tenant, closed);
      case 2:
        ready_.set_queue_closed(tenant, queue, closed);
        return put_if(model_.closed_queues, ReadyModel::Queue(tenant, queue), closed);
      case 3: ready_.set_quiet(tenant, closed); return put_if(model_.quiet_tenants, tenant, closed);
      case 4: {
        const TypeId type{draw<std::int64_t>(1, 2)};
        ready_.set_type_closed(type, closed);
        return put_if(model_.closed_types, type.value, closed);
      }
      case 5: {
        const auto cap = any_cap();
        ready_.set_tenant_cap(tenant, cap);
        return set_cap(model_.tenant_caps, tenant, cap);
      }
      case 6: {
        const auto cap = any_cap();
        ready_.set_queue_cap(tenant, queue, cap);
        return set_cap(model_.queue_caps, ReadyModel::Queue(tenant, queue), cap);
      }
      case 7: return set_weight(tenant, static_cast<std::uint32_t>(draw(0, 3)));
      default: return set_limit(one_in(3) ? "" : tenant, any_limit(), any_rule());
    }
  }

  ReadySet ready_;
  ReadyModel model_;
  Instant now_ = kNow;
  std::int64_t last_id_ = 0;
  std::vector<ReadyPlace> running_;
};

RC_GTEST_PROP(ReadyProperty, OnlyWhatMayStartDoesAndSomethingWheneverSomethingMay, ()) {  // invariant 6
  Player player;
  const int steps = draw(20, 200);
  for (int i = 0; i < steps; ++i) {
    player.step();
    player.check_counts();
  }
}

RC_GTEST_PROP(ReadyProperty, NothingLeaksWhateverWasPutBackDroppedOrEnded, ()) {
  Player player;
  const int steps = draw(20, 150);
  for (int i = 0; i < steps; ++i) player.step();
  player.end_everything();
  player.drain();  // Under the rules as they are: each cap and slot is free again.
  player.check_counts();
  player.end_everything();
  player.open_everything();
  player.drain();
  RC_ASSERT(player.left() == 0U);
  player.end_everything();
  player.check_counts();
}

}  // namespace
}  // namespace carillon
