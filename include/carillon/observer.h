// What an engine does, told while it runs: lines of the log, the event log, and warnings of objectives that are missed.
//
//   carillon::Engine engine{*store, settings.engine};
//   carillon::Log log(settings.log);
//   carillon::Observer observer(engine, {.slo = settings.slo, .log = &log});
//   engine.run();
//
// An objective that is breached is a warning in the log and the event `slo.breach`, once; one that recovers is a line
// at info. With carillon/metrics.h: `.on_turn = [&](const carillon::SloTurn& turn) { metrics.hear(turn); }`.
#pragma once

#include <carillon/engine.h>
#include <carillon/event_log.h>
#include <carillon/log.h>
#include <carillon/slo.h>

#include <functional>
#include <memory>
#include <string>

namespace carillon {

struct ObserverOptions {
  SloOptions slo;
  Log* log = nullptr;             // nothing: no lines
  EventLog* event_log = nullptr;  // nothing: none
  // Besides, of every objective that turns. On the observer's thread, or on that of look_now.
  std::function<void(const SloTurn&)> on_turn = {};
};

class Observer {
 public:
  // Before the engine runs. Engine, log and event log must outlive it.
  Observer(Engine& engine, ObserverOptions options);
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  // Stops looking.
  ~Observer();

  // Looks at the objectives now, besides every `eval`. Any thread.
  void look_now();
  // Other thresholds, from the next look on.
  void set_thresholds(const SloOptions& options);
  // As of the last look, as /v1/slo answers in the server.
  std::string slo_json() const;

 private:
  class Parts;
  const std::shared_ptr<Parts> parts_;
};

}  // namespace carillon
