// The whole store: what a backend offers, behind four narrow interfaces.
//
//   auto store = open_sqlite({.path = "jobs.db"});
//   const auto job = (*store)->jobs().enqueue(std::array{NewJob{.type = "mail.send"}}).front();
//
// Any thread may call; writes take turns. To put several calls into one transaction and one commit, make them inside of
// `atomically`.
#pragma once

#include <functional>
#include <memory>

#include "base/error.h"
#include "core/time/instant.h"
#include "store/admin_store.h"
#include "store/job_store.h"
#include "store/plan_store.h"
#include "store/store_reader.h"

namespace carillon {

// The times that a store judges by, given to it. Both may be asked for from any thread.
class StoreClock {
 public:
  StoreClock() = default;
  StoreClock(const StoreClock&) = delete;
  StoreClock& operator=(const StoreClock&) = delete;
  virtual ~StoreClock() = default;
  // Cut to milliseconds, so that nothing is due before the instant that people are shown (core/instant.h).
  Instant wall() const { return cut_to_millisecond(exact_wall()); }
  // Does not jump when the wall clock is set, and counts while the machine sleeps.
  virtual BootTime boot() const = 0;
  // How long it really takes for the wall clock to move on by `wall_time`.
  virtual Duration real_time(Duration wall_time) const { return wall_time; }
  // How long it really takes until `wall` is `at`, or later.
  Duration until(Instant at) const {
    const Duration left = up_to_millisecond(at) - exact_wall();
    return left <= Duration::zero() ? Duration::zero() : real_time(left);
  }
  // What `wall` will be when `boot` has come to `at`.
  Instant wall_at(BootTime at) const { return up_to_millisecond(add_clamped(exact_wall(), at - boot())); }
  // It goes on only when it is moved, by whoever waits until all is done: nothing has to be put off for others' sake.
  virtual bool stands_still() const { return false; }

 protected:
  virtual Instant exact_wall() const = 0;
};

// The clocks of this machine.
const StoreClock& system_store_clock();

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  virtual JobStore& jobs() = 0;
  virtual PlanStore& plans() = 0;
  virtual AdminStore& admin() = 0;
  virtual StoreReader& reader() = 0;

  // Runs `body`; all calls that it makes on this store, from this thread, become one transaction. Their answers hold
  // only if `atomically` succeeds; an item that was refused does not undo the others. Not nested, and
  // without questions to `reader()`.
  virtual Result<void> atomically(const std::function<void()>& body) = 0;
};

}  // namespace carillon
