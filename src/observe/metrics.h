// What has happened, as numbers for Prometheus. Fed by the engine's events; its counters agree with them.
#pragma once

#include <carillon/events.h>

#include <memory>
#include <string>
#include <string_view>

namespace carillon {

class Metrics {
 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics();

  // On the engine's thread.
  void hear(const Event& event);
  // 1 while an objective is breached, by its name. Any thread.
  void set_slo(std::string_view slo, bool breached);
  // The text format. Any thread.
  std::string text() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace carillon
