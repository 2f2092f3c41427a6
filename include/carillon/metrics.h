// What has happened, as numbers for Prometheus. Fed by the engine's events; its counters agree with them.
//
//   carillon::Metrics metrics;                                                      // target carillon::metrics
//   engine.on_event([&](const carillon::Event& event) { metrics.hear(event); });
//   ... metrics.text() ...                                                          // what GET /metrics answers
#pragma once

#include <carillon/events.h>
#include <carillon/slo.h>

#include <memory>
#include <string>

namespace carillon {

class Metrics {
 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics();

  // On the engine's thread.
  void hear(const Event& event);
  // An objective is breached, or has recovered: `on_turn` of an Observer. Any thread.
  void hear(const SloTurn& turn);
  // The text format. Any thread.
  std::string text() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace carillon
