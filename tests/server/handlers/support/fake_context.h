// What a handler is given, without an engine.
#pragma once

#include <carillon/job_context.h>

#include <atomic>
#include <set>
#include <string>

#include "support/results.h"

namespace carillon::test {

class FakeContext final : public JobContext {
 public:
  explicit FakeContext(std::string payload = "null") {
    running.id = {.value = 1};
    running.tenant = "acme";
    running.queue = "default";
    running.type = "report.build";
    running.attempt = 1;
    running.payload = std::move(payload);
    running.run_at = value_of(parse_instant("2026-03-02T12:00:00Z"));
    parsed_ = value_of(JsonValue::parse(running.payload));
  }
  FakeContext(const FakeContext&) = delete;
  FakeContext& operator=(const FakeContext&) = delete;
  ~FakeContext() override = default;

  const RunningJob& job() const override { return running; }
  const JsonValue& payload() const override { return parsed_; }
  OnceResult once(std::string_view key, const std::function<void()>& effect) override {
    if (effects.contains(std::string(key))) return OnceResult::done_before;
    effect();
    effects.emplace(key);
    return OnceResult::done_now;
  }
  bool cancelled() const override { return stop; }
  void heartbeat(std::string_view /*progress*/) override {}
  std::optional<GateClosing> check_gates() const override { return std::nullopt; }

  RunningJob running;
  std::atomic<bool> stop = false;
  std::set<std::string> effects;  // that were recorded

 private:
  JsonValue parsed_;
};

}  // namespace carillon::test
