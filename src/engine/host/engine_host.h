// A node with a thread that drives it, from the first call to the last handler: what an engine and a server are made
// of.
//
//   EngineHost host(store, {.engine = {.max_concurrency = 8}});
//   host.handle("mail.send", handler);
//   host.start();
//   ...
//   host.stop();   // drains
//
// Clients work from the moment of construction; jobs start with `start`.
#pragma once

#include <carillon/engine.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/attempts/thread_runner.h"
#include "engine/calls/node_client.h"
#include "engine/calls/queries.h"
#include "engine/commands/commands.h"
#include "engine/host/rehearsal.h"
#include "engine/pulls/pull_client.h"
#include "engine/round/node.h"

namespace carillon {

// What the options say of jobs, windows and the stored configuration.
RuleBook::Base rules_of(const EngineOptions& options);
// How a node runs by them.
Node::Options node_options_of(const EngineOptions& options);

struct EngineHostOptions {
  EngineOptions engine;
  const StoreClock* clock = nullptr;  // nothing: the machine's; it must outlive the host
  Rehearsal* rehearsal = nullptr;     // moves that clock; it must outlive the host
  // Where handlers run; nothing: on the executor of the options if there is one, else on threads of the host's own.
  std::function<std::unique_ptr<Runner>(std::shared_ptr<ExecutionEnvironment> environment, std::uint32_t threads)>
      make_runner;
  // Who serves which types, by tenant; nothing: whoever has a handler if the options leave the rest, else everything.
  // Called on the driver's thread; when its answers change, `command::ServingChanged` says so.
  Dispatcher::Serves serves;
  // What jobs of a type take besides the limits that they name; the same holds for it.
  Dispatcher::TypeLimits limits_of_type;
  // Nothing is left of a tenant that was deleted. Called on the driver's thread.
  std::function<void(const std::string&)> tenant_erased;
  // Which jobs wait for somebody outside while they hold a slot; the same holds for it. Nothing: none.
  Dispatcher::Serves waits_outside;
  JobRoom job_room;
  bool limits_must_exist = false;  // who names one that does not is refused
};

class EngineHost {
 public:
  // The store must outlive the host.
  EngineHost(Store& store, EngineHostOptions options);
  EngineHost(const EngineHost&) = delete;
  EngineHost& operator=(const EngineHost&) = delete;
  // Stops, if that was not done.
  ~EngineHost();

  // How others change what is kept, and how they look at it.
  Commands commands();
  Queries queries();
  NodeClient& client();
  // One that acts for somebody.
  NodeClient client_of(std::string actor);
  PullClient& pulls();
  Counters counters() const;
  // Tells listeners of something that no round has done (`Node::announce`).
  void announce(EventBody body);
  // There may be something to do.
  void wake();
  // The engine's own, and its tests'.
  Node& node();

  // Before it runs; afterwards it replaces the handler of a type, or adds one, for attempts that begin from now on. Who
  // serves which types is not asked again by that (`serves`).
  void handle(std::string type, Handler handler);
  // Before it runs.
  void on_event(EventListener listener);

  void start();
  // Stops claiming, lets attempts finish for `drain`, hands the rest back. May be called twice, from any thread but a
  // handler's or the driver's.
  void stop();
  // Readable once everything has been drained.
  int stopped_fd() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace carillon
