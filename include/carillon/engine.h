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
#include <carillon/engine_options.h>
#include <carillon/events.h>
#include <carillon/job_context.h>
#include <carillon/store.h>

#include <cstdint>
#include <memory>
#include <string>

namespace carillon {

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
  // What /v1/config answers in the server, as JSON: what is pinned, else stored, else the default.
  std::string config() const;
  // How many jobs there are in this state, of all tenants.
  Result<std::uint64_t> count(JobState state) const;
  // The store's clock.
  Instant now() const;
  // Tells the listeners, in order with what the engine tells itself. Any thread.
  void announce(EventBody event);

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
