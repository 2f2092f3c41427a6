// Attempts on threads: the engine's own, or the host's executor.
#pragma once

#include <functional>
#include <memory>

#include "base/replaceable.h"
#include "engine/attempts/execution.h"
#include "engine/attempts/runner.h"

namespace carillon {

// What running an attempt needs. It outlives the engine as long as a handler does not return.
struct ExecutionEnvironment {
  std::shared_ptr<Port> port;
  std::shared_ptr<FinishedQueue> finished;
  std::shared_ptr<Slots> slots;
  Replaceable<Handlers> handlers;
};

// At most `threads` attempts at once. At its end it waits for idle threads only: a handler that does not return keeps
// its thread, and nothing else.
class ThreadRunner final : public Runner {
 public:
  ThreadRunner(std::shared_ptr<const ExecutionEnvironment> environment, std::uint32_t threads);
  ThreadRunner(const ThreadRunner&) = delete;
  ThreadRunner& operator=(const ThreadRunner&) = delete;
  ~ThreadRunner() override;

  void start(RunPtr run) override;

 private:
  struct Pool;
  std::shared_ptr<Pool> pool_;
};

// At most `most` attempts at once, each by one call of the host's executor.
class HostRunner final : public Runner {
 public:
  using Executor = std::function<void(std::function<void()>)>;
  HostRunner(std::shared_ptr<const ExecutionEnvironment> environment, std::uint32_t most, Executor executor);
  HostRunner(const HostRunner&) = delete;
  HostRunner& operator=(const HostRunner&) = delete;
  ~HostRunner() override;

  void start(RunPtr run) override;

 private:
  struct Pool;
  std::shared_ptr<Pool> pool_;
};

}  // namespace carillon
