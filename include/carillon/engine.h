// The engine: runs what is due, with the handlers that it is given, until it is told to stop.
//
//   auto store = carillon::open_store("sqlite:jobs.db").value();
//   carillon::Engine engine{*store, {.max_concurrency = 8}};
//   engine.handle("mail.send", [](carillon::JobContext& ctx) { return carillon::done(); });
//   engine.client().enqueue({.type = "mail.send"});
//   engine.run();   // until SIGTERM or SIGINT
//
// The client works from the moment of construction; jobs start with run() or run_in_background().
#pragma once

#include <carillon/client.h>
#include <carillon/events.h>
#include <carillon/job_context.h>
#include <carillon/store.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace carillon {

struct EngineOptions {
  std::uint32_t max_concurrency = 0;          // 0: as many as there are cores
  Duration tick = std::chrono::seconds(1);    // the longest that it sleeps
  Duration drain = std::chrono::seconds(30);  // how long running attempts may take at the end
  Duration retention = std::chrono::days(7);  // finished jobs are kept so long, unless their tenant says otherwise
  std::string worker = "engine";              // its name on leases
  bool leave_unhandled = false;               // types without a handler stay queued, instead of failing
  // Where handlers run, if not on threads of the engine's own: called with a function to call once, on any thread.
  std::function<void(std::function<void()>)> executor;
};

class Engine {
 public:
  using Options = EngineOptions;
  // The store must outlive the engine. One engine a store.
  explicit Engine(Store& store, Options options = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  // Stops, if that was not done.
  ~Engine();

  // Before it runs. The last handler of a type counts.
  void handle(std::string type, Handler handler);
  void on_event(EventListener listener);

  Client& client();
  Counters counters() const;

  // Until SIGTERM, SIGINT or stop(). Drains; a second signal ends the process at once.
  void run();
  void run_in_background();
  // Stops claiming, lets attempts finish for `drain`, hands the rest back. May be called twice, and from any thread but
  // a handler's.
  void stop();

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace carillon
