// For tests of programs that use Carillon: a clock that stands still until it is told, and an engine driven by hand.
//
//   carillon::testing::ManualClock clock(carillon::parse_instant("2026-03-28T23:00:00Z").value());
//   carillon::testing::TestEngine engine(clock);          // jobs in memory
//   engine.handle("mail.send", ...);
//   engine.client().enqueue({.type = "mail.send", .run_at = carillon::in(5min)});
//   engine.advance(5min);                                 // runs everything that falls due on the way, in order
//
// Handlers run on the calling thread, one after the other.
#pragma once

#include <carillon/client.h>
#include <carillon/engine_options.h>
#include <carillon/events.h>
#include <carillon/job_context.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace carillon::testing {

class ManualClock {
 public:
  explicit ManualClock(Instant start);
  ManualClock(const ManualClock&) = delete;
  ManualClock& operator=(const ManualClock&) = delete;
  ~ManualClock();

  Instant now() const;
  // Time passes, on the wall and for leases.
  void advance(Duration by);
  // Somebody sets the wall clock, forwards or backwards; leases do not notice.
  void step(Duration by);

  class Parts;
  Parts& parts() { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

class TestEngine {
 public:
  struct Options {
    std::string store = "memory:";  // or sqlite:PATH
    std::uint32_t max_concurrency = 8;
    bool leave_unhandled = false;
    // As a real engine has them; then these count, and not the two above. Handlers run here whatever it says of
    // threads.
    std::optional<EngineOptions> engine = {};
  };
  explicit TestEngine(ManualClock& clock) : TestEngine(clock, Options()) {}
  TestEngine(ManualClock& clock, const Options& options);
  TestEngine(const TestEngine&) = delete;
  TestEngine& operator=(const TestEngine&) = delete;
  ~TestEngine();

  void handle(std::string type, Handler handler);
  void on_event(EventListener listener);
  Client& client();
  Counters counters() const;

  // Runs what is due now, and what that makes due, until nothing is. How many attempts were made.
  std::size_t run_due();
  // Moves the clock, stopping wherever something falls due. How many attempts were made.
  std::size_t advance(Duration by);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace carillon::testing
