// A node driven by hand whose attempts run when the test says so, over a store that fails when the test says so.
//
//   const RunPtr run = node.take();   // claimed, waits for a slot
//   node.begin(run);                  // its handler is entered
//   node.pass(2min);                  // rounds go on meanwhile: heartbeats, upkeep
//   node.finish(run, done());
#pragma once

#include <carillon/testing.h>

#include <deque>
#include <functional>
#include <memory>

#include "engine/attempts/execution.h"
#include "engine/calls/node_client.h"
#include "engine/host/manual_clock.h"
#include "engine/support/engine_test.h"
#include "faults/faulty_backend.h"

namespace carillon::test {

class HandRunner final : public Runner {
 public:
  void start(RunPtr run) override { waiting.push_back(std::move(run)); }
  std::deque<RunPtr> waiting;
};

class HandNode {
 public:
  struct Options {
    std::uint32_t max_concurrency = 8;
    std::filesystem::path sqlite;  // without: in memory
    Instant start = at("2026-03-02T12:00:00Z");
    RuleBook::Base rules;
    std::size_t claims_max = 1000;
  };
  HandNode() : HandNode(Options()) {}
  explicit HandNode(const Options& options);
  HandNode(const HandNode&) = delete;
  HandNode& operator=(const HandNode&) = delete;
  ~HandNode() = default;

  Client& client() { return client_; }
  Node& node() { return node_; }
  Store& store() { return *store_; }
  FaultyCommits& commits() { return commits_; }
  // A transaction behind the back of the store and the node: to write what nothing that is right would write.
  void tamper(const std::function<void(Transaction&)>& write);

  // Rounds until nothing is due. A store that fails is asked so often, and no more.
  void settle_down();
  // Time passes, and rounds wherever something is due.
  void pass(Duration by);
  // The next that waits for a slot; nothing: none does.
  RunPtr take();
  // Enters its handler. False: the node took it back, or no slot is free.
  bool begin(const RunPtr& run);
  void finish(const RunPtr& run, Outcome outcome);
  // As a thread does all of it, with the handlers below.
  Finished::How execute_next();
  // All that is due and what that makes due.
  std::size_t run_due();

  JobId enqueue(const JobRequest& request) { return value_of(client_.enqueue(request)).id; }
  JobInfo job(JobId id) { return value_of(client_.job("default", id)); }

  testing::ManualClock clock;
  Heard heard;
  Handlers handlers;
  HandRunner runner;

 private:
  bool has_begun(const RunPtr& run);
  std::unique_ptr<Backend> open_backend(const Options& options);

  FaultyCommits commits_;
  Backend* backend_ = nullptr;  // the store has it
  std::unique_ptr<Store> store_;
  Node node_;
  NodeClient client_;
};

}  // namespace carillon::test
